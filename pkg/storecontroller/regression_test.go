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

// The tests of this file are those of the weaknesses of the older shape, by their numbers in docs/store-controllers.md.

// TestK1AnyNumberOfDependencies checks that a controller has any number of dependencies, and each enqueues its primary.
func TestK1AnyNumberOfDependencies(t *testing.T) {
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
	inWorld(t, Options{}, func(w *world) { w.skipParts = true; w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1")
		for _, s := range stores {
			obj := storetest.NewThing("its", 1)
			obj.Spec.Text, obj.Metadata.Owners = "a", []store.Owner{{Kind: "thing", Key: "a"}}
			_, err := s.Create(t.Context(), obj)
			w.must(err)
			w.settle()
			w.expectPasses("a 1")
		}
	}, deps...)
}

// A wrapped store has only the methods of the interface.
type wrapped struct{ store.Store[*thing] }

// TestK2AnyStore checks that a controller needs only the methods of the interface.
func TestK2AnyStore(t *testing.T) {
	volumes := newMemory("volumes")
	inWorld(t, Options{}, func(w *world) { w.skipParts = true }, func(w *world) {
		v := storetest.NewThing("v", 1)
		v.Metadata.Owners = []store.Owner{{Kind: "thing", Key: "a"}}
		_, err := volumes.Create(t.Context(), v)
		w.must(err)
		w.settle()
		w.expectPasses("a gone")
	}, func(*world) Dependency {
		return Owns(store.NewInformer[*thing](wrapped{volumes}, store.InformerOptions{}))
	})
}

// TestK3ContextCancellation checks that a controller and its passes end with the context.
func TestK3ContextCancellation(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	c, err := New(nil, "k3", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
		ReconcilerFunc[*thing](func(ctx context.Context, _ string, _ *thing, _ bool) (reconcile.Result, error) {
			close(began)
			<-ctx.Done()
			ended <- ctx.Err()

			return reconcile.Result{}, nil
		}), Options{Resync: -1, TypedOptions: skipNameValidation()})
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
		t.Fatalf("it ended before its context, with %v", err)
	}
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("it returned %v", err)
		}
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of the pass ended with %v", err)
	}
}

func skipNameValidation() (o controller.TypedOptions[Request]) {
	o.SkipNameValidation = new(true)

	return o
}

// TestK4ReconcileResults checks that a pass receives the object, and may return RequeueAfter or a terminal error.
func TestK4ReconcileResults(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.requeueAfter = time.Minute; w.create("a", 7) }, func(w *world) {
		w.expectPasses("a 7", "a 7")
		w.advance(time.Minute)
		w.expectPasses("a 7")
		w.mu.Lock()
		w.fail["a"] = reconcile.TerminalError(errors.New("invalid spec"))
		w.mu.Unlock()
		w.advance(time.Minute)
		w.expectPasses("a 7")
		w.advance(time.Hour)
		w.expectPasses()
	})
}

// TestK5ControllerRuntimeQueue checks that metrics and leader election are those of controller-runtime.
func TestK5ControllerRuntimeQueue(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1", "a 1")
		if !w.c.NeedLeaderElection() {
			t.Error("it does not need leader election")
		}
	})
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "controller_runtime_reconcile_total" && l.GetName() == "controller" &&
					l.GetValue() == "things" && m.GetCounter().GetValue() > 0 {
					return
				}
			}
		}
	}
	t.Error("its passes are not in the metrics")
}

// TestK6Finalizers checks that a primary with a finalizer is reconciled while it is being deleted, and is removed with
// its last finalizer.
func TestK6Finalizers(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		a := storetest.NewThing("a", 1)
		a.Metadata.Finalizers = []string{"ours"}
		_, err := w.primaries.Create(w.Context(), a)
		w.must(err)
	}, func(w *world) {
		w.expectPasses("a 1", "a 1")
		w.must(w.primaries.Delete(t.Context(), "a"))
		w.settle()
		w.expectPasses("a 1")
		a, err := w.primaries.Get(t.Context(), "a")
		w.must(err)
		if a.Metadata.DeletionTimestamp == nil {
			t.Error("there is no deletion timestamp")
		}
		a.Metadata.Finalizers = nil
		_, err = w.c.Primaries().Update(t.Context(), a)
		w.must(err)
		w.settle()
		w.expectPasses("a gone", "a gone")
		w.expectParts()
	})
}

// TestK7ExternalSource checks that an external source enqueues a primary at once, without a resync.
func TestK7ExternalSource(t *testing.T) {
	var webhook Pusher
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1", "a 1")
		webhook.Push("a")
		w.settle()
		w.expectPasses("a 1")
	}, func(*world) Dependency { return External("webhook", &webhook) })
}

// TestK8OwnersEnqueuePrimaries checks that a secondary enqueues its primary without code of the author, or by a
// function of the author.
func TestK8OwnersEnqueuePrimaries(t *testing.T) {
	volumes := newMemory("volumes")
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1", "a 1")
		w.must(w.parts.Delete(t.Context(), "a"))
		w.settle()
		w.expectPasses("a 1", "a 1") // for the deleted part, and for the new part
		v := storetest.NewThing("v", 1)
		_, err := volumes.Create(t.Context(), v)
		w.must(err)
		w.settle()
		w.expectPasses("a 1")
	}, func(*world) Dependency {
		return Reads(store.NewInformer(volumes, store.InformerOptions{}),
			func(context.Context, *thing) []string { return []string{"a"} })
	})
}

// TestK9LongKeysAreHashedInLabels checks that a key that no label can hold is found by its annotation.
func TestK9LongKeysAreHashedInLabels(t *testing.T) {
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
