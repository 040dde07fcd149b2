package managed_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestPreparationIsAStepOfWhoHasOne verifies that objects are prepared once per pass, as a measured step, and not
// while they are deleted.
func TestPreparationIsAStepOfWhoHasOne(t *testing.T) {
	did := map[string]int{}
	doing := func(what string) func(context.Context, resource.Managed) error {
		return func(context.Context, resource.Managed) error {
			did[what]++

			return nil
		}
	}
	initializers := managed.WithInitializers(managed.InitializerFn(doing("initialize")))
	resolver := managed.WithReferenceResolver(managed.ReferenceResolverFn(doing("resolve")))
	for name, tc := range map[string]struct {
		options             []managed.ReconcilerOption
		steps               float64
		initialize, resolve int
	}{
		"nobody":         {nil, 0, 0, 0},
		"an initializer": {[]managed.ReconcilerOption{initializers}, 1, 1, 0},
		"a resolver":     {[]managed.ReconcilerOption{resolver}, 1, 0, 1},
		"both":           {[]managed.ReconcilerOption{initializers, resolver}, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clear(did)
			registry := prometheus.NewRegistry()
			w := newWorld(t, append(tc.options, managed.WithMetricsRegisterer(registry))...)
			w.create(nil)
			w.pass()
			w.delete()
			w.pass()
			steps := metric(t, registry, "moorage_managed_external_step_seconds step=prepare")
			if steps != tc.steps || did["initialize"] != tc.initialize || did["resolve"] != tc.resolve {
				t.Errorf("%v steps, %v, want %+v", steps, did, tc)
			}
		})
	}
}

// TestAnInitializerThatWritesTheObjectItself verifies that the pass continues with an object that an initializer
// wrote itself, without a second write or a conflict.
func TestAnInitializerThatWritesTheObjectItself(t *testing.T) {
	var w *world
	wrote := 0
	w = newWorld(t, managed.WithInitializers(managed.InitializerFn(func(ctx context.Context,
		mg resource.Managed) error {
		v, ok := mg.(*volume.Volume)
		if !ok || v.Labels["tier"] != "" {
			return nil
		}
		wrote++
		v.Labels, v.Generation, v.Spec.SizeGiB = map[string]string{"tier": "gold"}, 2, 2

		return w.API.Update(ctx, v)
	})))
	w.cloud.Put(volume.Disk{ID: "vol-7", SizeGiB: 2})
	object(meta.AnnotationKeyExternalName, "vol-7")(w)
	w.pass()
	if requests, calls, _ := w.taken(); wrote != 1 ||
		requests != "patch, patch status" && requests != "patch status" || calls != look {
		t.Errorf("requests %q, calls %q after %d writes of the initializer", requests, calls, wrote)
	}
	w.condition(commonv1.TypeSynced, "True/ReconcileSuccess") // of the generation that it has now
	w.pass()
	w.expect("", look, "")
}

// TestAReferentRequeuesItsReferrers verifies that an event of a watched referent requeues its referrers.
func TestAReferentRequeuesItsReferrers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGallery(t)
		informers := &informertest.FakeInformers{Scheme: g.API.Scheme()}
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		g.Must(g.r.References(informers).Start(t.Context(), q))
		g.create(referring("source"))
		if after := g.pass().RequeueAfter; after != 10*time.Minute {
			t.Errorf("next pass after %s, although the referent is watched", after)
		}
		disk := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "source"}}
		woken := func() int {
			synctest.Wait()
			i, err := informers.FakeInformerFor(t.Context(), disk)
			g.Must(err)
			i.Add(disk)
			<-time.After(time.Second)
			n := q.Len()
			for range n {
				r, _ := q.Get()
				if r != request() {
					t.Errorf("%v is woken", r)
				}
				q.Done(r)
			}

			return n
		}
		if n := woken(); n != 1 {
			t.Errorf("%d are woken by what they refer to", n)
		}
		g.change(func(s *volume.Snapshot) { s.Spec.VolumeRef, s.Spec.Volume = nil, "vol-0" })
		g.pass()
		if n := woken(); n != 0 {
			t.Errorf("%d are woken by what they do not refer to any more", n)
		}
		g.change(func(s *volume.Snapshot) { referring("source")(s) })
		g.pass()
		if n := woken(); n != 1 {
			t.Errorf("%d are woken by what they refer to again", n)
		}
		s := g.get()
		s.Finalizers = nil
		g.Must(g.API.Update(t.Context(), s))
		g.delete()
		g.pass()
		if n := woken(); n != 0 {
			t.Errorf("%d are woken that are gone", n)
		}
	})
}
