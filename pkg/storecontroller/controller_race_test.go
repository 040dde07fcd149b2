package storecontroller

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// A racer is one of two controllers that update the same key.
type racer struct {
	pause     func() // called before each update
	c         *Controller[*thing]
	wrote     int // acknowledged updates
	conflicts int
}

// each is the number of updates of a racer.
const each = 3

// reconcile increments the size, each times.
func (r *racer) reconcile(ctx context.Context, _ string, obj *thing, found bool) (reconcile.Result, error) {
	if !found || r.wrote == each {
		return reconcile.Result{}, nil
	}
	r.pause()
	obj.Spec.Size++
	_, err := r.c.Primaries().Update(ctx, obj)
	switch {
	case err == nil:
		r.wrote++
	case errors.Is(err, store.ErrConflict):
		r.conflicts++
	}

	return reconcile.Result{RequeueAfter: time.Millisecond}, err
}

// TestTwoControllersConflictOnKey updates one key by two controllers in a thousand random schedules. It checks that the
// object has each acknowledged update, and no other.
func TestTwoControllersConflictOnKey(t *testing.T) {
	const schedules = 1000
	conflicts := 0
	for seed := range uint64(schedules) {
		synctest.Test(t, func(t *testing.T) { conflicts += raceOnce(t, seed) })
	}
	if conflicts < schedules {
		t.Errorf("%d conflicts in %d schedules: the controllers did not conflict", conflicts, schedules)
	}
}

func raceOnce(t *testing.T, seed uint64) int {
	t.Helper()
	s := memory.New[*thing]("things")
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	pause := func() {
		mu.Lock()
		d := time.Duration(random.IntN(4)) * time.Millisecond
		mu.Unlock()
		<-time.After(d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	racers := []*racer{{pause: pause}, {pause: pause}}
	for _, r := range racers {
		i := store.NewInformer(s, store.InformerOptions{Resync: time.Minute})
		o := Options{Resync: -1}
		o.SkipNameValidation = new(true)
		var err error
		if r.c, err = New(nil, "racers", "thing", i, ReconcilerFunc[*thing](r.reconcile), o); err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = i.Start(ctx) })
		running.Go(func() { _ = r.c.Start(ctx) })
	}
	if _, err := s.Create(ctx, storetest.NewThing("a", 0)); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Minute) // of the bubble
	got, err := s.Get(ctx, "a")
	cancel()
	running.Wait()
	if err != nil || got.Spec.Size != 2*each || racers[0].wrote != each || racers[1].wrote != each {
		t.Errorf("schedule %d: %v, %v, after %d and %d changes", seed, got, err, racers[0].wrote, racers[1].wrote)
	}

	return racers[0].conflicts + racers[1].conflicts
}
