package serviceprovider

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

func annotated(value string) func(*Foo) {
	return func(f *Foo) { f.Annotations = map[string]string{OperationAnnotation: value} }
}

// TestReconcile checks the results of one pass.
func TestReconcile(t *testing.T) {
	testReconcile(t, func(b *APIReconcilerBuilder[*Foo, *FooConfig], g *fakeProvider) { b.ClusterAccessReconciler(g) })
}

// TestReconcileAdvanced is TestReconcile with an AdvancedProvider.
func TestReconcileAdvanced(t *testing.T) {
	testReconcile(t, func(b *APIReconcilerBuilder[*Foo, *FooConfig], g *fakeProvider) {
		b.ClusterAccessReconciler(nil).AdvancedClusterAccessReconciler(SimpleProviderAdapter{Provider: g})
	})
}

func testReconcile(t *testing.T, access func(*APIReconcilerBuilder[*Foo, *FooConfig], *fakeProvider)) {
	t.Helper()
	type want struct {
		Phase, Reason, Access string
		Calls                 []string
		After                 time.Duration
		Held                  bool
	}
	cases := map[string]struct {
		reason string
		set    func(w *world)
		change func(f *Foo)
		delete bool
		err    error
		want   want
	}{
		"Created": {
			"all is there", nil, nil, false, nil,
			want{"Ready", ReasonReconcileSuccess, "True/Granted", []string{"CreateOrUpdate"}, time.Minute, true},
		},
		"CreateFails": {
			"what the domain has put into the status is stored", func(w *world) { w.domain.err = boom }, nil, false,
			boom,
			want{"Progressing", "DomainError", "True/Granted", []string{"CreateOrUpdate"}, 0, true},
		},
		"Sooner": {
			"the domain wants it earlier", func(w *world) { w.domain.result.RequeueAfter = time.Second }, nil, false,
			nil,
			want{"Ready", ReasonReconcileSuccess, "True/Granted", []string{"CreateOrUpdate"}, time.Second, true},
		},
		"NotLater": {
			"the domain wants it later than the poll", func(w *world) { w.domain.result.RequeueAfter = time.Hour },
			nil, false,
			nil, want{"Ready", ReasonReconcileSuccess, "True/Granted", []string{"CreateOrUpdate"}, time.Minute, true},
		},
		"NoPoll": {
			"the configuration does not want it", func(w *world) { w.config.Poll.Duration = 0 }, nil, false, nil,
			want{"Ready", ReasonReconcileSuccess, "True/Granted", []string{"CreateOrUpdate"}, 0, true},
		},
		"Ignored": {"the user wants it left alone", nil, annotated(OperationIgnore), false, nil, want{}},
		"OnRequest": {
			"the user wants it now, and the request is taken off", nil, annotated(OperationReconcile), false, nil,
			want{"Ready", ReasonReconcileSuccess, "True/Granted", []string{"CreateOrUpdate"}, time.Minute, true},
		},
		"NoConfig": {
			"there is none, and nothing was said before", func(w *world) { w.config = nil }, nil, false, nil,
			want{"Progressing", ReasonReconcileError, "", nil, 30 * time.Second, false},
		},
		"AccessFails": {
			"access cannot be asked for", func(w *world) { w.gate.err = boom }, nil, false, boom,
			want{"Progressing", ReasonReconcileError, "False/ClusterAccessFailed", nil, 0, true},
		},
		"AccessNil": {
			"there is no cluster", func(w *world) { w.gate.cluster = nil }, nil, false, errAny,
			want{"Progressing", ReasonReconcileError, "False/ClusterAccessFailed", nil, 0, true},
		},
		"Waiting": {
			"W7: waiting for access shows", func(w *world) { w.gate.pending = time.Second }, nil, false, nil,
			want{"Progressing", ReasonWaitingForClusterAccess, "False/WaitingForClusterAccess", nil, time.Second, true},
		},
		"Denied": {
			"W9: denied shows, and is not tried for ever", func(w *world) { w.gate.err = ErrAccessDenied }, nil,
			false, nil,
			want{"Progressing", ReasonClusterAccessDenied, "False/ClusterAccessDenied", nil, longRequeue, true},
		},
		"Gone": {
			"a cluster that is gone may come back", func(w *world) { w.gate.err = ErrClusterGone }, nil, false, nil,
			want{"Progressing", ReasonWaitingForClusterAccess, "False/ClusterGone", nil, 30 * time.Second, true},
		},
		"Deleting": {
			"the domain is done, access is on its way", func(w *world) { w.gate.deleting = time.Hour }, nil, true, nil,
			want{"Terminating", ReasonTerminating, "", []string{"Delete"}, time.Hour, true},
		},
		"DeleteFails": {
			"the domain cannot", func(w *world) { w.domain.err = boom }, nil, true, boom,
			want{"Terminating", ReasonTerminating, "True/Granted", []string{"Delete"}, 0, true},
		},
		"StillThere": {
			"the domain needs time", func(w *world) { w.domain.result.RequeueAfter = time.Second }, nil, true, nil,
			want{"Terminating", ReasonTerminating, "True/Granted", []string{"Delete"}, time.Second, true},
		},
		"AccessLeaves": {
			"once access is being taken away the domain is not called",
			func(w *world) { w.gate.leaving, w.gate.deleting = true, time.Second }, nil, true, nil,
			want{"Terminating", ReasonTerminating, "", nil, time.Second, true},
		},
		"LookFails": {
			"W8: a deletion that fails is terminating", func(w *world) { w.gate.lookErr = boom }, nil, true, boom,
			want{"Terminating", ReasonReconcileError, "", nil, 0, true},
		},
		"SetupFails": {
			"access for the deletion cannot be asked for", func(w *world) { w.gate.err = boom }, nil, true, boom,
			want{"Terminating", ReasonReconcileError, "False/ClusterAccessFailed", nil, 0, true},
		},
		"WaitsToClean": {
			"access for the deletion takes time", func(w *world) { w.gate.pending = time.Second }, nil, true, nil,
			want{"Terminating", ReasonWaitingForClusterAccess, "False/WaitingForClusterAccess", nil, time.Second, true},
		},
		"GivingBack": {
			"access cannot be given back", func(w *world) { w.gate.deleteErr = boom }, nil, true, boom,
			want{"Terminating", ReasonReconcileError, "", []string{"Delete"}, 0, true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { access(b, w.gate) }
			if tc.set != nil {
				tc.set(w)
			}
			f := w.create("foo", func(f *Foo) {
				if tc.change != nil {
					tc.change(f)
				}
				if tc.delete {
					f.Finalizers = []string{finalizer}
				}
			})
			if tc.delete {
				w.Delete(f)
			}
			result, err := w.pass(f)
			if !errors.Is(err, tc.err) && !(errors.Is(tc.err, errAny) && err != nil) {
				t.Errorf("%s: want error %v, got %v", tc.reason, tc.err, err)
			}
			got := w.get(f)
			have := want{
				Phase: got.Status.Phase, Calls: w.domain.called(), After: result.RequeueAfter,
				Held:   len(got.Finalizers) > 0,
				Access: w.condition(f, ConditionClusterAccessReady),
			}
			for _, c := range got.Status.Conditions {
				if c.Type == "Ready" {
					have.Reason = c.Reason
				}
			}
			if diff := cmp.Diff(tc.want, have); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got.Annotations[OperationAnnotation] == OperationReconcile {
				t.Error("the request was not taken off")
			}
			if len(w.domain.calls) > 0 && tc.set == nil {
				given := w.domain.given
				if diff := cmp.Diff(
					client.ObjectKey{Namespace: "platform", Name: "foo.mcp"}, given.MCPAccessSecretKey); diff != "" ||
					w.domain.config.Image != "v1" {
					t.Errorf("the domain was given %+v, %+v", given, w.domain.config)
				}
			}
		})
	}
}

var errAny = errors.New("any error")

// TestErrorsInConditionsAreRedacted verifies that conditions contain the cause of an access error,
// without secrets and bounded.
func TestErrorsInConditionsAreRedacted(t *testing.T) {
	w := newWorld(t)
	w.gate.err = errors.New("cannot read the Secret: https://admin:hunter2@east.example refused us " + strings.Repeat(
		"again and ", 1000))
	f := w.create("foo")
	if _, err := w.pass(f); err == nil {
		t.Error("want an error")
	}
	for _, c := range w.get(f).Status.Conditions {
		if !strings.HasPrefix(c.Message, "cluster setup error: cannot read the Secret") ||
			strings.Contains(c.Message, "hunter2") || len(c.Message) > 1<<10 {
			t.Errorf("%s says %q", c.Type, c.Message)
		}
	}
	w.expect(f, "Progressing", ReasonReconcileError)
	if got := w.condition(f, ConditionClusterAccessReady); got != "False/ClusterAccessFailed" {
		t.Errorf("got %s", got)
	}
	w.gate.err = nil
	w.steady(f)
	if got := w.condition(f, ConditionClusterAccessReady); got != "True/Granted" {
		t.Errorf("got %s", got)
	}
}

func TestNotFound(t *testing.T) {
	w := newWorld(t)
	if result, err := w.pass(&Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "nobody"},
	}); err != nil || !result.IsZero() || len(w.domain.calls)+len(w.gate.calls) != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

// TestSteadyPassWritesNothing verifies that a pass without a change writes nothing, and that a
// deletion leaves no state.
func TestSteadyPassWritesNothing(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	w.steady(f)
	before := w.get(f).ResourceVersion
	for range 3 {
		w.steady(f)
	}
	if after := w.get(f).ResourceVersion; after != before {
		t.Errorf("written in a steady pass: %s, %s", before, after)
	}
	w.Delete(f)
	w.steady(f)
	w.steady(f) // the cache has it no more
	if !w.Gone(f) || w.r.states.Len() != 0 {
		t.Errorf("left: %d in memory", w.r.states.Len())
	}
	if diff := cmp.Diff([]string{
		"Reconcile", "Reconcile", "Reconcile", "Reconcile", "Reconcile", "ReconcileDelete",
	}, w.gate.calls); diff != "" {
		t.Errorf("calls: -want +got:\n%s", diff)
	}
}

func TestWorkloadCluster(t *testing.T) {
	w := newWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.WorkloadCluster(true) }
	w.steady(w.create("foo"))
	given := w.domain.given
	if given.WorkloadCluster != w.home || given.WorkloadAccessSecretKey.Name != "foo.workload" {
		t.Errorf("got %+v", given)
	}
	if c, ok := given.Cluster(ClusterWorkload); !ok || c != w.home {
		t.Errorf("got %v, %t", c, ok)
	}
	if _, ok := given.Cluster("other"); ok || given.Revision("other") != "" {
		t.Error("want nothing of a cluster that is not there")
	}
}

// TestRecreatedObject verifies that a recreated object has no state of the former one.
func TestRecreatedObject(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	w.steady(f)
	w.config = nil
	w.r.channelConfig.removed = true
	w.r.channelConfig.loaded = false
	twin := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
	w.Delete(twin)
	w.steady(twin)
	if w.condition(twin, ConditionDeletionBlocked) != "True/ConfigMissing" {
		t.Error("a namesake has inherited the configuration")
	}
}

// detailedProvider is an access provider that is an AccessDetailer.
type detailedProvider struct {
	*fakeProvider

	details map[string]Access
}

func (d *detailedProvider) Access(_ context.Context, _ reconcile.Request, id string) (Access, error) {
	return d.details[id], nil
}

var _ ClusterAccessProvider = &fakeProvider{}

// addCluster adds another cluster to the objects.
func addCluster(w *world) (other *clusters.Cluster) {
	other = clusters.NewTestClusterFromClient("other", api)
	access := &requests{detailedProvider{fakeProvider: w.gate, details: map[string]Access{
		ClusterMCP: {Cluster: w.home, Revision: "a"},
		"other": {
			Cluster: other, Revision: "b", Key: clusters.Key{Name: "o"}, UID: "7",
			Expires: time.Now().Add(20 * time.Second),
		},
	}}}
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ClusterAccessReconciler(access).Clusters("other") }

	return other
}

// TestW11ExpiryIsAwaited verifies that the object is requeued before the first credentials expire,
// however long the poll interval is.
func TestW11ExpiryIsAwaited(t *testing.T) {
	w := newWorld(t)
	addCluster(w)
	for _, poll := range []time.Duration{time.Hour, 0} {
		w.config.Poll.Duration = poll
		w.restart()
		if result := w.steady(w.create("foo-" + poll.String())); result.RequeueAfter <= 0 ||
			result.RequeueAfter > 20*time.Second {
			t.Errorf("poll interval %s: want it before the credentials expire, got %s", poll, result.RequeueAfter)
		}
	}
}

// TestW18FurtherClusters checks further clusters by ID, with their revisions.
func TestW18FurtherClusters(t *testing.T) {
	w := newWorld(t)
	other := addCluster(w)
	w.steady(w.create("foo"))
	if c, ok := w.domain.given.Cluster("other"); !ok || c != other || w.domain.given.Revision("other") != "b" {
		t.Errorf("got %+v", w.domain.given)
	}
	if got, want := w.domain.given.Ref("other"), (clusters.Ref{
		Key: clusters.Key{Name: "o"}, UID: "7", Revision: "b",
	}); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
	if w.domain.given.Ref(ClusterMCP) != (clusters.Ref{}) || w.domain.given.Ref("unknown") != (clusters.Ref{}) {
		t.Error("want none of a cluster that is not known by a key")
	}
}
