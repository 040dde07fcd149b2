package clusters

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/pkg/errors"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

var (
	errBoom = errors.New("boom")
	key     = Key{Name: "east"}
)

// A yard makes connections that are called after their revision and a number.
type yard struct {
	mu     sync.Mutex
	err    error
	during func(ctx context.Context)
	built  []string
	closed []string
}

func (y *yard) build(ctx context.Context, _ Key, in Input) (string, error) {
	if y.during != nil {
		y.during(ctx)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.err != nil {
		return "", y.err
	}
	name := fmt.Sprintf("%s#%d", in.Revision, len(y.built)+1)
	y.built = append(y.built, name)

	return name, nil
}

func (y *yard) close(c string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.closed = append(y.closed, c)
}

func (y *yard) cache(t *testing.T, o CacheOptions[string]) *Cache[string] {
	t.Helper()
	o.Close = y.close
	c := NewCache(y.build, o)
	t.Cleanup(c.Close)

	return c
}

func acquire(t *testing.T, c Acquirer[string], k Key) Lease[string] {
	t.Helper()
	l, err := c.Acquire(t.Context(), k)
	if err != nil {
		t.Fatalf("Acquire(%s): %v", k, err)
	}

	return l
}

// A desk is a plain provider: it says what it was told to.
type desk struct {
	mu   sync.Mutex
	rev  map[Key]Revision
	err  map[Key]error
	asks int
	// during, if set, is called inside Get, after the answer was found.
	during func()
}

func newDesk() *desk { return &desk{rev: map[Key]Revision{}, err: map[Key]error{}} }

func (d *desk) set(k Key, r Revision, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rev[k], d.err[k] = r, err
}

func (d *desk) Get(_ context.Context, k Key) (string, Revision, error) {
	d.mu.Lock()
	d.asks++
	r, err := d.rev[k], d.err[k]
	during := d.during
	d.mu.Unlock()
	if during != nil {
		during()
	}
	if err == nil && r == "" {
		err = ErrNotFound
	}

	return "client " + string(r), r, err
}
