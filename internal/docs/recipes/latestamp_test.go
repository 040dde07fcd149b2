package recipes

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// commentServer has databases with comments. A fault in the server affects each request.
type commentServer struct{ *memory }

func (s commentServer) Create(ctx context.Context, name string) error {
	return s.request(ctx, func() error { return s.add(Record{Name: name}) })
}

func (s commentServer) Comment(ctx context.Context, name, text string) error {
	return s.change(ctx, name, func(r *Record) { r.Stamp = text })
}

func (s commentServer) Resize(ctx context.Context, name string, sizeGiB int32) error {
	return s.change(ctx, name, func(r *Record) { r.SizeGiB = sizeGiB })
}

func (s commentServer) Rename(ctx context.Context, from, to string) error {
	return s.request(ctx, func() error { return s.move(from, to) })
}

// databases returns a suite for the kind Database.
func databases(t *testing.T, m *memory, class conformance.Class,
	connect func(managed.Stamp) managed.TypedExternalClient[*v1alpha1.Database]) conformance.Suite {
	t.Helper()

	return conformance.Suite{
		Kind: v1alpha1.DatabaseKind, Scheme: scheme(t), Class: class, Probe: driftingProbe{probe{m}},
		NewConnecter: connecter(v1alpha1.DatabaseKind, connect),
		Options:      []managed.ReconcilerOption{managed.WithCreationGracePeriod(0)},
		Samples:      []resource.Managed{database("orders"), database("orders-2")},
		Mutations: []conformance.Mutation{{
			Name:   "larger",
			Change: func(mg resource.Managed) { mg.(*v1alpha1.Database).Spec.SizeGiB = 50 },
			Want:   map[string]string{"size": "50"},
		}},
	}
}

// TestLateStampConforms runs the client with the kit.
func TestLateStampConforms(t *testing.T) {
	m := newMemory()
	conformance.Run(t, databases(t, m, conformance.Named,
		func(s managed.Stamp) managed.TypedExternalClient[*v1alpha1.Database] {
			return &LateStamp{API: commentServer{m}, Stamp: s}
		}))
}

// TestLateStampSurvivesEachRequest ends Create after each of its requests. The next passes complete the database, or,
// if the object is deleted instead, leave nothing behind.
func TestLateStampSurvivesEachRequest(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		for after := range 6 {
			m := newMemory()
			db := database("orders")
			c := &LateStamp{API: commentServer{m}, Stamp: stampOf(v1alpha1.DatabaseKind, db)}
			m.failAfter(after)
			if err := c.Create(t.Context(), db); after < 5 && err == nil {
				t.Errorf("Create needs no more than %d requests", after)
			}
			m.failAfter(-1)
			for range 3 {
				settle(t, c, db, deleted)
			}
			if want := map[bool]int{false: 1, true: 0}[deleted]; len(m.records) != want {
				t.Errorf("after %d requests of Create, deleted %t: %v", after, deleted, m.records)
			}
			if r := m.records["orders"]; !deleted && r.Stamp != string(c.Stamp) {
				t.Errorf("after %d requests of Create the database has the stamp %q", after, r.Stamp)
			}
		}
	}
}

// TestLateStampNameTaken takes the name while the draft is there: the draft goes, and the other database stays.
func TestLateStampNameTaken(t *testing.T) {
	m := newMemory()
	db := database("orders")
	c := &LateStamp{API: commentServer{m}, Stamp: stampOf(v1alpha1.DatabaseKind, db)}
	m.failAfter(4)
	if err := c.Create(t.Context(), db); err == nil {
		t.Fatal("Create does not fail before it renames")
	}
	m.failAfter(-1)
	m.records["orders"] = Record{Name: "orders", Stamp: "another"}
	settle(t, c, db, false)
	o, err := c.Observe(t.Context(), db)
	if err != nil || o.Owner != managed.OwnerOther || len(m.records) != 1 {
		t.Errorf("got %v, %v, %v", o, err, m.records)
	}
}

// settle does what a pass does: it observes, and makes one change.
func settle(t *testing.T, c managed.TypedExternalClient[*v1alpha1.Database], db *v1alpha1.Database, deleted bool) {
	t.Helper()
	o, err := c.Observe(t.Context(), db)
	switch {
	case err != nil:
	case deleted && o.ResourceExists:
		err = c.Delete(t.Context(), db)
	case deleted || o.ResourceUpToDate:
	case o.ResourceExists:
		err = c.Update(t.Context(), db)
	default:
		err = c.Create(t.Context(), db)
	}
	if err != nil && !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
}

func stampOf(of resource.ManagedKind, mg resource.Managed) managed.Stamp {
	return managed.NewStamp("cluster", schema.GroupVersionKind(of).GroupKind(), mg)
}
