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

// A connector makes connections named after their revision and a number.
type connector struct {
	mu      sync.Mutex
	err     error
	onBuild func(ctx context.Context)
	built   []string
	closed  []string
}

// build makes a connection.
func (f *connector) build(ctx context.Context, _ Key, in Input) (string, error) {
	if f.onBuild != nil {
		f.onBuild(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	name := fmt.Sprintf("%s#%d", in.Revision, len(f.built)+1)
	f.built = append(f.built, name)

	return name, nil
}

// close records that a connection is closed.
func (f *connector) close(c string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = append(f.closed, c)
}

// cache returns a cache of connections.
func (f *connector) cache(t *testing.T, o CacheOptions[string]) *Cache[string] {
	t.Helper()
	o.Close = f.close
	c := NewCache(f.build, o)
	t.Cleanup(c.Close)

	return c
}

// acquire returns a lease on the connection to a cluster.
func acquire(t *testing.T, c Acquirer[string], k Key) Lease[string] {
	t.Helper()
	l, err := c.Acquire(t.Context(), k)
	if err != nil {
		t.Fatalf("Acquire(%s): %v", k, err)
	}

	return l
}

// A fakeProvider is a provider that is neither an Acquirer nor a Notifier.
type fakeProvider struct {
	mu    sync.Mutex
	rev   map[Key]Revision
	err   map[Key]error
	calls int
	// during, if set, is called inside Get, after the answer was found.
	onGet func()
}

// newFakeProvider returns a provider without clusters.
func newFakeProvider() *fakeProvider {
	return &fakeProvider{rev: map[Key]Revision{}, err: map[Key]error{}}
}

// set sets the revision and the error of a cluster.
func (p *fakeProvider) set(k Key, r Revision, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rev[k], p.err[k] = r, err
}

// Get returns the revision and the error that were set.
func (p *fakeProvider) Get(_ context.Context, k Key) (string, Revision, error) {
	p.mu.Lock()
	p.calls++
	r, err := p.rev[k], p.err[k]
	during := p.onGet
	p.mu.Unlock()
	if during != nil {
		during()
	}
	if err == nil && r == "" {
		err = ErrNotFound
	}

	return "client " + string(r), r, err
}
