package recipes

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

var errDown = errors.New("cannot reach the server")

// A memory is an external system in memory: records by name. Its requests may be made to fail.
type memory struct {
	mu      sync.Mutex
	records map[string]Record
	broken  bool
	silent  bool // requests take effect, and fail
	left    int  // requests until all fail; negative: no limit
}

func newMemory() *memory { return &memory{records: map[string]Record{}, left: -1} }

// failAfter lets n requests succeed, and then none. A negative n ends that.
func (m *memory) failAfter(n int) { m.left = n }

// request runs one request.
func (m *memory) request(ctx context.Context, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.left > 0 {
		m.left--
	} else if m.left == 0 {
		return errDown
	}
	if m.broken {
		return errDown
	}
	err := do()
	if m.silent {
		return errDown
	}

	return err
}

// Get returns a record.
func (m *memory) Get(ctx context.Context, name string) (out Record, err error) {
	err = m.request(ctx, func() error {
		r, ok := m.records[name]
		if !ok {
			return ErrNotFound
		}
		out = r

		return nil
	})
	if err != nil {
		return Record{}, err
	}

	return out, nil
}

func (m *memory) add(r Record) error {
	if _, ok := m.records[r.Name]; ok {
		return ErrConflict
	}
	m.records[r.Name] = r

	return nil
}

// move gives a record another name. The caller makes a request.
func (m *memory) move(from, to string) error {
	r, ok := m.records[from]
	switch {
	case !ok:
		return ErrNotFound
	case m.records[to].Name != "":
		return ErrConflict
	}
	delete(m.records, from)
	r.Name = to
	m.records[to] = r

	return nil
}

func (m *memory) change(ctx context.Context, name string, change func(*Record)) error {
	return m.request(ctx, func() error {
		r, ok := m.records[name]
		if !ok {
			return ErrNotFound
		}
		change(&r)
		m.records[name] = r

		return nil
	})
}

// Drop removes a record.
func (m *memory) Drop(ctx context.Context, name string) error {
	return m.request(ctx, func() error {
		if _, ok := m.records[name]; !ok {
			return ErrNotFound
		}
		delete(m.records, name)

		return nil
	})
}

// A probe reads and changes the system for the kit.
type probe struct{ *memory }

// List returns all records that are not being created.
func (p probe) List(context.Context) ([]conformance.Resource, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []conformance.Resource
	for _, name := range slices.Sorted(maps.Keys(p.records)) {
		r := p.records[name]
		out = append(out, conformance.Resource{ID: name, State: map[string]string{
			"size": strconv.Itoa(int(r.SizeGiB)), "team": r.Team, "stamp": r.Stamp,
		}})
	}

	return out, nil
}

// Remove deletes a record.
func (p probe) Remove(_ context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.records, id)

	return nil
}

// Make creates a record without a stamp.
func (p probe) Make(_ context.Context, mg resource.Managed) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := meta.GetExternalName(mg)

	return name, p.add(Record{Name: name, SizeGiB: 30, Team: "others"})
}

// Break makes all requests fail.
func (p probe) Break(context.Context) (func(context.Context) error, error) { return p.flag(&p.broken) }

// Silence lets requests take effect, and fail.
func (p probe) Silence(context.Context) (func(context.Context) error, error) {
	return p.flag(&p.silent)
}

func (p probe) flag(b *bool) (func(context.Context) error, error) {
	set := func(to bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		*b = to
	}
	set(true)

	return func(context.Context) error {
		set(false)

		return nil
	}, nil
}

// A driftingProbe can also change a record.
type driftingProbe struct{ probe }

// Drift changes a field of a record.
func (p driftingProbe) Drift(_ context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.records[id]
	r.SizeGiB += 10
	r.Team += "x"
	p.records[id] = r

	return nil
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(out); err != nil {
			t.Fatal(err)
		}
	}

	return out
}

// connecter returns a function that returns connecters to one system.
func connecter[T resource.Managed](of resource.ManagedKind,
	connect func(managed.Stamp) managed.TypedExternalClient[T]) func() managed.ExternalConnecter {
	return func() managed.ExternalConnecter {
		return managed.Untyped(managed.TypedExternalConnectorFn[T](
			func(_ context.Context, mg T) (managed.TypedExternalClient[T], error) {
				return connect(stampOf(of, mg)), nil
			}))
	}
}

func database(name string) *v1alpha1.Database {
	return &v1alpha1.Database{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: "uid", Annotations: map[string]string{meta.AnnotationKeyExternalName: name},
		},
		Spec: v1alpha1.DatabaseSpec{SizeGiB: 40},
	}
}
