package systemtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

var objects = flag.Int("objects", 200, "how many objects are taken through their life")

const (
	foreignPairs = 20
	workers      = 8

	// What a process does from time to time, it does in this time: a pass that waits
	// for its own write looks again after ten seconds, and what is refused after one,
	// two, four and eight.
	steadyWindow = 16 * time.Second
)

// TestManyObjects creates many objects, copies their status up and deletes them. Foreign
// host objects, some with the names of images, do not change.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	wait.Allow(t, time.Duration(*objects)*200*time.Millisecond)
	f := newTestSyncer(t, "many", syncer.Options{MaxConcurrentReconciles: workers})
	f.limitToNamespace()
	names := translate.Names{Suffix: f.name}
	foreign := map[string]string{} // as they are, by name
	for i := range foreignPairs {
		collides := newWidget(f.target, names.PhysicalName(fmt.Sprintf("taken-%d", i), f.ns), 7)
		apart := newWidget(f.target, fmt.Sprintf("foreign-%d", i), 7)
		for _, b := range []*widget{collides, apart} {
			if err := hostPlane.api.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			foreign[b.GetName()] = text(b)
		}
	}
	f.start()
	f.host.Reset()
	f.tenant.Reset()

	begin := time.Now()
	parallel(t, func(ctx context.Context, i int) error {
		return tenantPlane.api.Create(ctx, newWidget(f.ns, fmt.Sprintf("widget-%d", i), 12))
	})
	for i := range foreignPairs {
		if err := tenantPlane.api.Create(t.Context(), newWidget(f.ns, fmt.Sprintf("taken-%d", i), 12)); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "all are down", func() bool { return len(widgets(t, hostPlane.api, f.target)) == *objects+len(foreign) })
	parallel(t, func(ctx context.Context, i int) error {
		b := newWidget(f.target, names.PhysicalName(fmt.Sprintf("widget-%d", i), f.ns), 0)
		return hostPlane.api.Status().Patch(
			ctx, b, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"ready":true}}`)))
	})
	wait.Until(t, "all statuses are up", func() bool {
		return countWithStatus(widgets(t, tenantPlane.api, f.ns)) == *objects
	})
	figure("objects", *objects)
	figure("seconds_down_and_status_up", time.Since(begin).Seconds())
	figure("requests_per_object_down_and_status_up", f.perObject())
	t.Logf("host: %s; tenant: %s", test.SummarizeRequests(f.host.Objects()), test.SummarizeRequests(f.tenant.Objects()))

	f.reportsConflicts(foreignPairs)
	f.steady()

	begin = time.Now()
	f.host.Reset()
	f.tenant.Reset()
	deleteWidgets(t, tenantPlane, f.ns)
	wait.Until(t, "nothing of ours is left", func() bool {
		return len(widgets(t, hostPlane.api, f.target)) == len(foreign)
	})
	figure("seconds_deleted", time.Since(begin).Seconds())
	figure("requests_per_object_deleted", f.perObject())
	t.Logf("host: %s; tenant: %s", test.SummarizeRequests(f.host.Objects()), test.SummarizeRequests(f.tenant.Objects()))
	left := widgets(t, hostPlane.api, f.target)
	touched := 0
	for _, b := range left {
		if foreign[b.GetName()] != text(&b) {
			touched++
			t.Errorf("a foreign object was touched: %v", b.Object)
		}
	}
	figure("foreign_objects", len(left))
	figure("foreign_objects_touched", touched)
	f.shutDown()
	f.floor(names)
}

// steady counts the requests while nothing changes, after every object was reconciled
// once more.
func (f *testSyncer) steady() {
	f.Helper()
	f.shutDown()
	f.host.Reset()
	f.tenant.Reset()
	f.start()
	// This widget is synced after all others were reconciled.
	last := newWidget(f.ns, "last", 1)
	if err := tenantPlane.api.Create(f.Context(), last); err != nil {
		f.Fatal(err)
	}
	mine := newWidget(f.target, f.reg.Names.PhysicalName("last", f.ns), 0)
	wait.Until(f.T, "the last widget is down", func() bool { return exists(f.T, hostPlane.api, mine) })
	requests := append(f.host.Objects(), f.tenant.Objects()...)
	figure("requests_to_look_at_all_again", len(requests))
	f.Logf("to look again: %s", test.SummarizeRequests(requests))
	// The new process reports the conflicts again.
	wait.Until(f.T, "conflicts are reported", func() bool {
		return len(f.tenant.Events()) >= foreignPairs && f.host.Underway()+f.tenant.Underway() == 0
	})
	f.host.Reset()
	f.tenant.Reset()
	quiet := time.NewTimer(steadyWindow) // what is counted is that nothing happens
	<-quiet.C
	requests = append(f.host.Objects(), f.tenant.Objects()...)
	events := append(f.host.Events(), f.tenant.Events()...)
	all := append(f.host.All(), f.tenant.All()...)
	figure("seconds_of_steady_state", steadyWindow.Seconds())
	figure("requests_in_steady_state", len(requests))
	figure("events_in_steady_state", len(events))
	figure("requests_of_any_kind_in_steady_state", len(all)) // with watches and discovery
	if len(all) != 0 {
		f.Errorf("requests in steady state: %s", test.SummarizeRequests(all))
	}
	if err := tenantPlane.api.Delete(f.Context(), last); err != nil {
		f.Fatal(err)
	}
	wait.Until(f.T, "the last widget is gone", func() bool { return !exists(f.T, hostPlane.api, mine) })
}

// reportsConflicts waits until so many virtual objects have a Conflict event.
func (f *testSyncer) reportsConflicts(want int) {
	f.Helper()
	var reported map[string]bool
	wait.Until(f.T, "conflicts are reported", func() bool {
		reported = map[string]bool{}
		events := &corev1.EventList{}
		if err := tenantPlane.api.List(f.Context(), events, client.InNamespace(f.ns)); err != nil {
			f.Fatal(err)
		}
		for _, e := range events.Items {
			if e.Reason == string(syncer.ReasonConflict) {
				reported[e.InvolvedObject.Name] = true
			}
		}
		return len(reported) == want
	})
	figure("conflicts_reported", len(reported))
}

// perObject returns the number of requests per object without events and watches.
func (f *testSyncer) perObject() float64 {
	return float64(len(f.host.Objects())+len(f.tenant.Objects())) / float64(*objects)
}

// floor performs the same work without a controller, with the minimal number of requests
// and the same concurrency.
func (f *testSyncer) floor(names translate.Names) {
	f.Helper()
	f.host.Reset()
	f.tenant.Reset()
	host, err := client.New(f.hostConf, client.Options{Scheme: scheme})
	if err != nil {
		f.Fatal(err)
	}
	tenant, err := client.New(f.tenantConf, client.Options{Scheme: scheme})
	if err != nil {
		f.Fatal(err)
	}
	image := func(i int) *widget {
		return newWidget(f.target, names.PhysicalName(fmt.Sprintf("floor-%d", i), f.ns), 12)
	}
	status := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"ready":true}}`))

	begin := time.Now()
	parallel(f.T, func(ctx context.Context, i int) error {
		return tenantPlane.api.Create(ctx, newWidget(f.ns, fmt.Sprintf("floor-%d", i), 12))
	})
	parallel(f.T, func(ctx context.Context, i int) error { return host.Create(ctx, image(i)) })
	parallel(f.T, func(ctx context.Context, i int) error { return hostPlane.api.Status().Patch(ctx, image(i), status) })
	parallel(f.T, func(ctx context.Context, i int) error {
		return tenant.Status().Patch(ctx, newWidget(f.ns, fmt.Sprintf("floor-%d", i), 0), status)
	})
	figure("floor_seconds_down_and_status_up", time.Since(begin).Seconds())
	figure("floor_requests_per_object_down_and_status_up", f.perObject())

	begin = time.Now()
	f.host.Reset()
	f.tenant.Reset()
	deleteWidgets(f.T, tenantPlane, f.ns)
	parallel(f.T, func(ctx context.Context, i int) error {
		same := func() error {
			return tenant.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{})
		}
		if err := same(); err != nil {
			return err
		}
		if err := tenant.Get(ctx, client.ObjectKey{
			Namespace: f.ns, Name: fmt.Sprintf("floor-%d", i),
		}, emptyWidget()); client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := same(); err != nil {
			return err
		}
		return host.Delete(ctx, image(i))
	})
	figure("floor_seconds_deleted", time.Since(begin).Seconds())
	figure("floor_requests_per_object_deleted", f.perObject())
}

func widgets(t *testing.T, c client.Client, namespace string) []widget {
	t.Helper()
	list := widgetList()
	// A server that has just come back, or is busy, may not answer the first time.
	wait.Until(t, "widgets are listed", func() bool {
		return c.List(t.Context(), list, client.InNamespace(namespace)) == nil
	})
	return list.Items
}

// text returns an object as JSON.
func text(b *widget) string {
	out, err := json.Marshal(b.Object)
	if err != nil {
		panic(err) // it came as JSON
	}
	return string(out)
}

func countWithStatus(all []widget) int {
	n := 0
	for _, b := range all {
		if yes, _, _ := unstructured.NestedBool(b.Object, "status", "ready"); yes {
			n++
		}
	}
	return n
}

// parallel calls do for each object from several goroutines.
func parallel(t *testing.T, do func(ctx context.Context, i int) error) {
	t.Helper()
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				if err := do(t.Context(), i); err != nil {
					t.Errorf("number %d: %v", i, err)
				}
			}
		})
	}
	for i := range *objects {
		next <- i
	}
	close(next)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
