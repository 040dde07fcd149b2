package recipes

import (
	"context"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// slowServer creates databases that are ready when they have been read three times.
type slowServer struct {
	*memory

	reads map[string]int // by name
}

func (s slowServer) Create(ctx context.Context, db Record) error {
	return s.request(ctx, func() error {
		s.reads[db.Name] = 0
		db.Creating = true

		return s.add(db)
	})
}

func (s slowServer) Get(ctx context.Context, name string) (Record, error) {
	r, err := s.memory.Get(ctx, name)
	if err == nil && r.Creating {
		s.reads[name]++
		err = s.change(ctx, name, func(r *Record) { r.Creating = s.reads[name] < 3 })
	}

	return r, err
}

func (s slowServer) Change(ctx context.Context, db Record) error {
	return s.change(ctx, db.Name, func(r *Record) { *r = db })
}

func (s slowServer) Drop(ctx context.Context, name string) error {
	if r, err := s.Get(ctx, name); err == nil && r.Creating {
		return ErrInUse
	}

	return s.memory.Drop(ctx, name)
}

// TestSlowClientConforms runs the client with the kit.
func TestSlowClientConforms(t *testing.T) {
	m := newMemory()
	s := slowServer{m, map[string]int{}}
	suite := databases(t, m, conformance.Named,
		func(stamp managed.Stamp) managed.TypedExternalClient[*v1alpha1.Database] {
			return &SlowClient{API: s, Stamp: stamp}
		})
	suite.Patience = time.Millisecond // the server counts reads, and no time
	conformance.Run(t, suite)
}

// TestSlowCreation follows a database: it is not ready while it is being created, and cannot be deleted.
func TestSlowCreation(t *testing.T) {
	s := slowServer{newMemory(), map[string]int{}}
	db := database("orders")
	c := &SlowClient{API: s, Stamp: stampOf(v1alpha1.DatabaseKind, db)}
	if err := c.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	o, err := c.Observe(t.Context(), db)
	if ready := db.GetCondition(commonv1.TypeReady); err != nil || !o.ResourceExists || !o.ResourceUpToDate ||
		ready.Reason != commonv1.ReasonCreating {
		t.Errorf("while it is being created: %v, %v, %v", o, err, ready)
	}
	if after, ok := external.AsRetryAfter(c.Delete(t.Context(), db)); !ok || after != time.Minute {
		t.Error("Delete does not wait until the database is created")
	}
	for range 2 {
		o, err = c.Observe(t.Context(), db)
	}
	if ready := db.GetCondition(commonv1.TypeReady); err != nil || !o.ResourceUpToDate ||
		ready.Reason != commonv1.ReasonAvailable {
		t.Errorf("later: %v, %v, %v", o, err, ready)
	}
	if err := c.Delete(t.Context(), db); err != nil || len(s.records) != 0 {
		t.Errorf("Delete: %v, %v", err, s.records)
	}
}
