package recipes

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// operationServer has one operation.
type operationServer struct{ op Operation }

func (s *operationServer) Start(context.Context, string, int32) (Operation, error) {
	s.op = Operation{ID: "op-1"}

	return s.op, nil
}

func (s *operationServer) Operation(context.Context, string) (Operation, error) {
	return s.OperationOn(context.Background(), "")
}

func (s *operationServer) OperationOn(context.Context, string) (Operation, error) {
	if s.op.ID == "" {
		return Operation{}, ErrNotFound
	}

	return s.op, nil
}

// TestOperation follows an operation, with its handle and without.
func TestOperation(t *testing.T) {
	m, s, db := newMemory(), &operationServer{}, database("orders")
	slow := &SlowClient{API: slowServer{m, map[string]int{}}, Stamp: stampOf(v1alpha1.DatabaseKind, db)}
	c := &OperationClient{SlowClient: slow, Operations: s}
	observe := func(handle string) (managed.ExternalObservation, error) {
		return c.Observe(external.WithOperationHandle(t.Context(), handle), db)
	}
	if o, err := observe(""); o.ResourceExists || err != nil {
		t.Errorf("before: %v, %v", o, err)
	}
	started := c.Create(t.Context(), db)
	for _, handle := range []string{"op-1", ""} {
		if _, err := observe(handle); err == nil || err.Error() != started.Error() {
			t.Errorf("in progress, handle %q: %v, and Create returned %v", handle, err, started)
		}
	}
	s.op.Failed = "no space"
	if _, err := observe("op-1"); !external.IsNotCreated(err) {
		t.Errorf("failed: %v", err)
	}
	s.op = Operation{ID: "op-1", Done: true}
	m.records["orders"] = slow.desired(db)
	if o, err := observe("op-1"); !o.ResourceExists || !o.ResourceUpToDate || err != nil {
		t.Errorf("done: %v, %v", o, err)
	}
}
