package storecontroller

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// The weaknesses of the older shape of such controllers, by the numbers that
// docs/store-controllers.md gives them: none of them comes back.

// TestK1AnyNumberOfKinds: a controller has as many kinds of secondaries and tertiaries
// as it needs, and each leads to its primary.
func TestK1AnyNumberOfKinds(t *testing.T) {
	var deps []func(*world) Dependency
	var stores []store.Store[*thing]
	for n := range 12 {
		s := newMemory(strings.Repeat("x", n+1))
		stores = append(stores, s)
		deps = append(deps, func(*world) Dependency {
			i := store.NewInformer(s, store.InformerOptions{})
			if n%2 == 0 {
				return Owns(i)
			}

			return Reads(i, func(_ context.Context, v *thing) []string { return []string{v.Spec.Text} })
		})
	}
	inWorld(t, Options{}, func(w *world) { w.lazy = true; w.create("a", 1) }, func(w *world) {
		w.saw("a 1")
		for _, s := range stores {
			obj := storetest.NewThing("its", 1)
			obj.Spec.Text, obj.Metadata.Owners = "a", []store.Owner{{Kind: "thing", Key: "a"}}
			_, err := s.Create(t.Context(), obj)
			w.must(err)
			w.rest()
			w.saw("a 1")
		}
	}, deps...)
}

// A stranger is a store of which nothing is known but that it is one.
type stranger struct{ store.Store[*thing] }

// TestK2AnyStore: what is behind the interface does not matter.
func TestK2AnyStore(t *testing.T) {
	volumes := newMemory("volumes")
	inWorld(t, Options{}, func(w *world) { w.lazy = true }, func(w *world) {
		v := storetest.NewThing("v", 1)
		v.Metadata.Owners = []store.Owner{{Kind: "thing", Key: "a"}}
		_, err := volumes.Create(t.Context(), v)
		w.must(err)
		w.rest()
		w.saw("a gone")
	}, func(*world) Dependency {
		return Owns(store.NewInformer[*thing](stranger{volumes}, store.InformerOptions{}))
	})
}

// TestK3Contexts: a controller ends with its context, and so do its passes.
func TestK3Contexts(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	c, err := New(nil, "k3", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
		ReconcilerFunc[*thing](func(ctx context.Context, _ string, _ *thing, _ bool) (reconcile.Result, error) {
			close(began)
			<-ctx.Done()
			ended <- ctx.Err()

			return reconcile.Result{}, nil
		}), Options{Resync: -1, TypedOptions: unnamed()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- c.Informers()[0].Start(ctx) }()
	go func() { done <- c.Start(ctx) }()
	c.Enqueue("a")
	select {
	case <-began:
	case err := <-done:
		t.Fatalf("it ended before it was told to, with %v", err)
	}
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("it ended with %v", err)
		}
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of the pass ended with %v", err)
	}
}

func unnamed() (o controller.TypedOptions[Request]) {
	o.SkipNameValidation = new(true)

	return o
}

// TestK4Results: a pass is given the object, says when to look again, and that an error
// is for good.
func TestK4Results(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.again = time.Minute; w.create("a", 7) }, func(w *world) {
		w.saw("a 7", "a 7")
		w.pass(time.Minute)
		w.saw("a 7")
		w.mu.Lock()
		w.fail["a"] = reconcile.TerminalError(errors.New("it cannot be"))
		w.mu.Unlock()
		w.pass(time.Minute)
		w.saw("a 7")
		w.pass(time.Hour)
		w.saw()
	})
}

// TestK5TheQueueOfControllerRuntime: metrics, leader election and warm-up are those of
// any controller.
func TestK5TheQueueOfControllerRuntime(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.saw("a 1", "a 1")
		if !w.c.NeedLeaderElection() {
			t.Error("it does not ask to lead")
		}
	})
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "controller_runtime_reconcile_total" && l.GetName() == "controller" && l.GetValue() == "things" && m.GetCounter().GetValue() > 0 {
					return
				}
			}
		}
	}
	t.Error("its passes are not counted")
}

// TestK6Finalizers: a primary that has one is seen going, and goes when it was taken
// away.
func TestK6Finalizers(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		a := storetest.NewThing("a", 1)
		a.Metadata.Finalizers = []string{"ours"}
		_, err := w.primaries.Create(w.Context(), a)
		w.must(err)
	}, func(w *world) {
		w.saw("a 1", "a 1")
		w.must(w.primaries.Delete(t.Context(), "a"))
		w.rest()
		w.saw("a 1")
		a, err := w.primaries.Get(t.Context(), "a")
		w.must(err)
		if a.Metadata.DeletionTimestamp == nil {
			t.Error("it is not marked")
		}
		a.Metadata.Finalizers = nil
		_, err = w.c.Primaries().Update(t.Context(), a)
		w.must(err)
		w.rest()
		w.saw("a gone", "a gone")
		w.have()
	})
}

// TestK7External: what happens outside is acted on when it is told, not at a resync.
func TestK7External(t *testing.T) {
	var webhook Pusher
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.saw("a 1", "a 1")
		webhook.Push("a")
		w.rest()
		w.saw("a 1")
	}, func(*world) Dependency { return External("webhook", &webhook) })
}

// TestK8NoBoilerplate: a secondary leads to its primary without a line of the author's,
// or by a function of his own.
func TestK8NoBoilerplate(t *testing.T) {
	volumes := newMemory("volumes")
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.saw("a 1", "a 1")
		w.must(w.parts.Delete(t.Context(), "a"))
		w.rest()
		w.saw("a 1", "a 1") // the deletion, and the part that was made again
		v := storetest.NewThing("v", 1)
		_, err := volumes.Create(t.Context(), v)
		w.must(err)
		w.rest()
		w.saw("a 1")
	}, func(*world) Dependency {
		return Reads(store.NewInformer(volumes, store.InformerOptions{}), func(context.Context, *thing) []string { return []string{"a"} })
	})
}

// TestK9LongKeys: what no label can hold is found all the same.
func TestK9LongKeys(t *testing.T) {
	key := "ns/" + strings.Repeat("k", 80)
	obj := &corev1.ConfigMap{}
	Marks{}.Set(obj, store.Owner{Kind: "thing", Key: key})
	if owner, err := (Marks{}).Owner(obj); err != nil || owner.Key != key {
		t.Errorf("the owner is %+v, %v", owner, err)
	}
	if label := obj.Labels[Marks{}.KeyKey()]; len(label) > 63 || label == "" {
		t.Errorf("the label is %q", label)
	}
}
