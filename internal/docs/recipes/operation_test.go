package recipes

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// operationServer creates each database in one operation, which is done when it has been read three times. Its ID is
// the name of the database. Before, Get does not show the database.
type operationServer struct {
	*memory

	reads  map[string]int    // of the operation, by name
	failed map[string]string // why, by name
}

func newOperationServer() operationServer {
	return operationServer{newMemory(), map[string]int{}, map[string]string{}}
}

func (s operationServer) Start(ctx context.Context, db Record) (Operation, error) {
	err := s.request(ctx, func() error {
		db.Creating = true
		if err := s.add(db); err != nil {
			return err
		}
		s.reads[db.Name] = 0

		return nil
	})

	return Operation{ID: db.Name}, err
}

func (s operationServer) Operation(ctx context.Context, id string) (out Operation, err error) {
	err = s.change(ctx, id, func(r *Record) {
		s.reads[id]++
		r.Creating = r.Creating && s.reads[id] < 3
		out = Operation{ID: id, Done: !r.Creating, Failed: s.failed[id]}
	})

	return out, err
}

func (s operationServer) OperationOn(ctx context.Context, name string) (Operation, error) {
	return s.Operation(ctx, name)
}

func (s operationServer) Get(ctx context.Context, name string) (Record, error) {
	r, err := s.memory.Get(ctx, name)
	if err == nil && r.Creating {
		err = ErrNotFound
	}

	return r, err
}

func (s operationServer) Create(context.Context, Record) error { return errors.New("use Start") }

func (s operationServer) Change(ctx context.Context, db Record) error {
	return s.change(ctx, db.Name, func(r *Record) { *r = db })
}

// TestOperationClientConforms runs the client with the kit.
func TestOperationClientConforms(t *testing.T) {
	s := newOperationServer()
	conformance.Run(t, databases(t, s.memory, conformance.Named,
		func(stamp managed.Stamp) managed.TypedExternalClient[*v1alpha1.Database] {
			return &OperationClient{SlowClient: &SlowClient{API: s, Stamp: stamp}, Operations: s}
		}))
}

// TestOperation follows an operation, with its handle and without.
func TestOperation(t *testing.T) {
	s, db := newOperationServer(), database("orders")
	c := &OperationClient{SlowClient: &SlowClient{API: s, Stamp: stampOf(v1alpha1.DatabaseKind, db)}, Operations: s}
	observe := func(handle string) (managed.ExternalObservation, error) {
		return c.Observe(external.WithOperationHandle(t.Context(), handle), db)
	}
	if o, err := observe(""); o.ResourceExists || err != nil {
		t.Errorf("before: %v, %v", o, err)
	}
	started := c.Create(t.Context(), db)
	for _, handle := range []string{"orders", ""} {
		if _, err := observe(handle); err == nil || err.Error() != started.Error() {
			t.Errorf("in progress, handle %q: %v, and Create returned %v", handle, err, started)
		}
	}
	s.failed["orders"] = "no space"
	if _, err := observe("orders"); !external.IsNotCreated(err) {
		t.Errorf("failed: %v", err)
	}
	delete(s.failed, "orders")
	if o, err := observe("orders"); !o.ResourceExists || !o.ResourceUpToDate || err != nil {
		t.Errorf("done: %v, %v", o, err)
	}
}
