package serviceprovider

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/lifecycle"
)

// writtenVersion returns the resourceVersion of the last write of an object.
func (w *world) writtenVersion(f *Foo) string {
	_, known := w.r.states.At(client.ObjectKeyFromObject(f))
	if known == nil {
		return "nothing"
	}

	return known.writtenVersion
}

// TestEveryWriteStoresVersion verifies that the next pass detects a cache that is behind any of our
// writes, and that nothing is written without a difference.
func TestEveryWriteStoresVersion(t *testing.T) {
	refusesStatus := func(w *world) {
		w.intercept(interceptor.Funcs{
			SubResourcePatch: func(
				context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
			) error {
				return boom
			},
		})
	}
	cases := map[string]struct {
		reason string
		set    func(w *world)
		change func(f *Foo)
		delete bool
		writes bool
	}{
		"Nothing": {"nothing is to be said", func(w *world) { w.setConfigSource(nil, boom) }, func(*Foo) {}, false,
			false},
		"Request": {
			"the request to reconcile is taken off", func(w *world) { w.setConfigSource(nil, boom) },
			func(f *Foo) { withFinalizer(f); annotated(OperationReconcile)(f) }, false, true,
		},
		"Hold": {
			"the finalizer is put on", func(w *world) { refusesStatus(w); w.gate.err = boom }, func(*Foo) {}, false,
			true,
		},
		"Default": {
			"the object is filled up", func(w *world) { refusesStatus(w); w.gate.err = boom; w.setDefaulter() },
			withFinalizer,
			false, true,
		},
		"Complete": {
			"nothing is left out", func(w *world) { refusesStatus(w); w.gate.err = boom; w.setDefaulter() },
			func(f *Foo) { withFinalizer(f); f.Spec.Size = "m" }, false, false,
		},
		"Status":  {"the domain says how the service is doing", func(*world) {}, withFinalizer, false, true},
		"Refused": {"it says so to nobody", refusesStatus, withFinalizer, false, false},
		"Release": {
			"the finalizer is taken off", refusesStatus,
			func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, true, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			tc.set(w)
			f := w.create("foo", tc.change)
			if tc.delete {
				w.Delete(f)
			}
			before := w.get(f).ResourceVersion
			_, _ = w.pass(f)
			after := w.get(f).ResourceVersion
			if got := w.writtenVersion(f); (got != "") != tc.writes || tc.writes && got != after ||
				(before != after) != tc.writes {
				t.Errorf("%s: it remembers %q, the object went from %s to %s", tc.reason, got, before, after)
			}
		})
	}
	t.Run("Gone", func(t *testing.T) {
		w := newFakeWorld(t)
		f := w.create("foo", withFinalizer)
		w.intercept(interceptor.Funcs{
			SubResourcePatch: func(
				context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
			) error {
				w.deleteForce(f)

				return kerrors.NewNotFound(group.WithResource("foos").GroupResource(), "foo")
			},
		})
		w.steady(f)
		if got := w.writtenVersion(f); got != "" {
			t.Errorf("what was not written is remembered: %s", got)
		}
	})
}

// TestReadErrors verifies that nothing is reported for an object that cannot be read, and that the
// state of a deleted object is removed.
func TestReadErrors(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", withFinalizer)
	w.intercept(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return boom
		},
	})
	if diff := cmp.Diff(passResult{
		Name: "ReadFailed", Err: "cannot get the object: boom",
	}, w.run(f)); diff != "" || w.r.states.Len() != 0 {
		t.Errorf("%d in memory, -want +got:\n%s", w.r.states.Len(), diff)
	}

	w = newFakeWorld(t)
	f = w.create("foo", annotated(OperationReconcile))
	w.failPatches()
	if diff := cmp.Diff(passResult{
		Name: "ReadFailed", Err: "cannot remove the annotation that requested a reconcile: boom",
	}, w.run(f)); diff != "" {
		t.Errorf("the request stays: -want +got:\n%s", diff)
	}

	// A stale cache contains a deleted object.
	w = newFakeWorld(t)
	f = w.create("foo")
	old := w.get(f)
	w.steady(f)
	w.deleteForce(f)
	w.r.cache = staleReader{w.API, old}
	if diff := cmp.Diff(passResult{Name: "NothingToDo"}, w.run(f)); diff != "" || w.r.states.Len() != 0 {
		t.Errorf("it is gone: %d in memory, -want +got:\n%s", w.r.states.Len(), diff)
	}
}

// TestStaleReadIsDiscarded verifies that the response of the API server is not mixed with a stale
// object of the cache, also if a client does not reset absent fields.
func TestStaleReadIsDiscarded(t *testing.T) {
	w := newFakeWorld(t)
	w.intercept(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			live := newFoo()
			if err := c.Get(ctx, k, live); err != nil {
				return err
			}
			text, err := json.Marshal(live)
			if err != nil {
				return err
			}

			return json.Unmarshal(text, o)
		},
	})
	f := w.create("foo", annotated(OperationIgnore))
	old := w.get(f)
	w.steady(f)
	w.Change(f, func() { f.Annotations = nil })
	w.r.cache = staleReader{w.home.Client(), old}
	if got := w.run(f); got.Name != "Worked" {
		t.Errorf("it is not to be ignored any more, but got %+v", got)
	}
}

// TestConfigDuringDeletion verifies that a deletion gets the newest configuration that existed.
func TestConfigDuringDeletion(t *testing.T) {
	for name, tc := range map[string]struct {
		before, now fixedConfigSource
		want        string // the image; empty: the deletion is blocked
	}{
		"it changed, and goes": {
			fixedConfigSource{&FooConfig{Image: "v1"}, nil},
			fixedConfigSource{&FooConfig{Image: "v2"}, ErrConfigTerminating},
			"v2",
		},
		"it goes without a copy": {
			fixedConfigSource{&FooConfig{Image: "v1"}, nil}, fixedConfigSource{nil, ErrConfigTerminating}, "v1",
		},
		"it is gone": {
			fixedConfigSource{&FooConfig{Image: "v1"}, nil}, fixedConfigSource{nil, ErrConfigNotFound}, "v1",
		},
		"it cannot be read": {fixedConfigSource{&FooConfig{Image: "v1"}, nil}, fixedConfigSource{nil, boom}, "v1"},
		"there was none":    {fixedConfigSource{nil, nil}, fixedConfigSource{nil, ErrConfigNotFound}, ""},
	} {
		w := newFakeWorld(t)
		f := w.create("foo", withFinalizer)
		w.restart()
		w.r.configs = tc.before
		w.steady(f)
		w.r.configs = tc.now
		w.Delete(f)
		w.steady(f)
		if tc.want == "" {
			if w.Gone(f) || len(w.domain.called()) != 0 {
				t.Errorf("%s: want it blocked, but gone is %t and the domain was called: %v", name, w.Gone(f),
					w.domain.calls)
			}

			continue
		}
		if !w.Gone(f) || w.domain.config.Image != tc.want {
			t.Errorf("%s: gone is %t, with %+v", name, w.Gone(f), w.domain.config)
		}
	}
}

// modifyConfig lets the domain modify its configuration.
func modifyConfig(w *world) func(context.Context, *Foo) error {
	return func(context.Context, *Foo) error {
		w.domain.config.Image = "spoiled"

		return nil
	}
}

// TestConfigsAreCopied verifies that the domain gets a copy of the configuration, or the
// configuration itself if its copy has another type.
func TestConfigsAreCopied(t *testing.T) {
	w := newFakeWorld(t)
	source := &FooConfig{Image: "v1"}
	w.setConfigSource(source, nil)
	w.domain.do = modifyConfig(w)
	w.steady(w.create("foo"))
	if source.Image != "v1" || w.domain.config.Image != "spoiled" {
		t.Errorf("the source has %+v, and the domain got %+v", source, w.domain.config)
	}

	config := &wrongCopyOfConfig{FooConfig{Image: "v1"}}
	r, err := NewAPIReconcilerBuilder[*Foo, *wrongCopyOfConfig]().EmptyObjectProvider(newFoo).OnboardingCluster(
		w.home).PlatformCluster(
		w.home).
		ClusterAccessReconciler(w.gate).Reconciler(wrongCopyConfig{}).ConfigSource(StaticConfig[*Foo](config)).Build()
	w.Must(err)
	p := &pass[*Foo, *wrongCopyOfConfig]{r: r, state: &objectState[*wrongCopyOfConfig]{}}
	if p.readConfig(t.Context()); p.config != config || p.configErr != nil {
		t.Errorf("got %v, %v", p.config, p.configErr)
	}
}

type wrongCopyConfig struct {
	Reconciler[*Foo, *wrongCopyOfConfig]
}

// requestStates is an access provider with a given AccessRequest or error per cluster.
type requestStates struct {
	SimpleProviderAdapter

	of map[string]func() (*clustersv1alpha1.AccessRequest, error)
}

func (s *requestStates) AccessRequest(
	_ context.Context, _ reconcile.Request, id string, _ ...any,
) (*clustersv1alpha1.AccessRequest, error) {
	return s.of[id]()
}

// TestRequestStateOfDeletion verifies that a request that is being deleted counts more than a
// missing one, and that more than an existing one, in any order. An error ends the check.
func TestRequestStateOfDeletion(t *testing.T) {
	type state = func() (*clustersv1alpha1.AccessRequest, error)
	answers := func(r *clustersv1alpha1.AccessRequest, err error) state {
		return func() (*clustersv1alpha1.AccessRequest, error) { return r, err }
	}
	goes := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}}
	there, none, leaving, fails := answers(
		&clustersv1alpha1.AccessRequest{}, nil), answers(nil, nil), answers(goes, nil), answers(goes, boom)
	missing := answers(
		nil, kerrors.NewNotFound(clustersv1alpha1.GroupVersion.WithResource("accessrequests").GroupResource(), "foo"))
	for name, tc := range map[string]struct {
		mcp, workload state
		want          lifecycle.RequestState
		err           error
	}{
		"both there":       {there, there, lifecycle.RequestsPresent, nil},
		"nothing is said":  {none, none, lifecycle.RequestsPresent, nil},
		"first missing":    {missing, there, lifecycle.RequestMissing, nil},
		"second missing":   {there, missing, lifecycle.RequestMissing, nil},
		"first leaves":     {leaving, missing, lifecycle.RequestDeleting, nil},
		"second leaves":    {missing, leaving, lifecycle.RequestDeleting, nil},
		"leaves and fails": {there, fails, lifecycle.RequestsUnchecked, boom},
	} {
		w := newFakeWorld(t)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler(nil).WorkloadCluster(true).
				AdvancedClusterAccessReconciler(&requestStates{
					of:                    map[string]state{ClusterMCP: tc.mcp, ClusterWorkload: tc.workload},
					SimpleProviderAdapter: SimpleProviderAdapter{Provider: w.gate},
				})
		}
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r}
		if err := p.checkRequests(t.Context()); !errors.Is(err, tc.err) || p.facts.Requests != tc.want {
			t.Errorf("%s: want %d and %v, got %d and %v", name, tc.want, tc.err, p.facts.Requests, err)
		}
	}
}

// twoClusters is an access provider with two distinct clusters or errors.
type twoClusters struct {
	*fakeProvider

	workload *clusters.Cluster
	err      error
}

func (t twoClusters) MCPCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return t.cluster, t.err
}

func (t twoClusters) WorkloadCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return t.workload, t.err
}

// TestAdapterClustersByID verifies that the adapter returns the cluster of the ID, and stops after
// an error.
func TestAdapterClustersByID(t *testing.T) {
	w := newFakeWorld(t)
	provider := twoClusters{fakeProvider: w.gate, workload: clusters.NewTestClusterFromClient("workload", w.API)}
	for id, want := range map[string]*clusters.Cluster{ClusterMCP: w.home, ClusterWorkload: provider.workload} {
		if a, err := (SimpleProviderAdapter{Provider: provider}).Access(t.Context(), reconcile.Request{},
			id); err != nil ||
			a.Cluster != want {
			t.Errorf("%s: want %v, got %v, %v", id, want, a.Cluster, err)
		}
		failing := twoClusters{fakeProvider: w.gate, err: boom}
		if a, err := (SimpleProviderAdapter{Provider: failing}).Access(
			t.Context(), reconcile.Request{}, id); !errors.Is(err, boom) || a != (Access{}) {
			t.Errorf("%s: want %v alone, got %+v, %v", id, boom, a, err)
		}
	}
}

// TestConflictKeepsOurCondition verifies that our change of a condition wins over another writer's.
func TestConflictKeepsOurCondition(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", withFinalizer)
	w.domain.do = func(ctx context.Context, _ *Foo) error {
		theirs := w.get(f)
		meta.SetStatusCondition(&theirs.Status.Conditions,
			metav1.Condition{Type: "Ready", Status: "False", Reason: "Theirs"})
		meta.SetStatusCondition(&theirs.Status.Conditions,
			metav1.Condition{Type: "Backup", Status: "True", Reason: "Done"})

		return w.API.Status().Update(ctx, theirs)
	}
	want := passResult{
		Name: "Worked", Phase: "Ready", Result: reconcile.Result{RequeueAfter: time.Minute},
		Says: []string{"Ready True ReconcileSuccess: Domain Service is ready", "Backup True Done: ", granted, created},
	}
	if diff := cmp.Diff(want, w.run(f)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// anyStatus is an object with a status of any type.
type anyStatus struct {
	Foo

	status any
}

func (o *anyStatus) GetStatus() any { return o.status }

// TestStatusPatch checks the patch of a difference, of none, and the error of a status that is no
// JSON.
func TestStatusPatch(t *testing.T) {
	bad := func() {}
	for name, tc := range map[string]struct {
		from, to any
		want     map[string]any
		fails    bool
	}{
		"the same": {FooStatus{Phase: "a"}, FooStatus{Phase: "a"}, nil, false},
		"changed": {
			FooStatus{Phase: "a", Note: "n"}, &FooStatus{Phase: "b"}, map[string]any{"phase": "b", "note": nil}, false,
		},
		"bad before": {bad, FooStatus{}, nil, true},
		"bad after":  {FooStatus{}, bad, nil, true},
	} {
		got, err := statusPatch(&anyStatus{status: tc.from}, &anyStatus{status: tc.to})
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// TestJoinedErrorsKeepOrder verifies that errors.As finds the first of two errors of one type.
func TestJoinedErrorsKeepOrder(t *testing.T) {
	conflict := kerrors.NewConflict(group.WithResource("foos").GroupResource(), "foo", boom)
	missing := kerrors.NewNotFound(group.WithResource("foos").GroupResource(), "foo")
	if both := joinErrors(missing, conflict); !kerrors.IsNotFound(both) || kerrors.IsConflict(both) {
		t.Errorf("want that it is missing, got %v", both)
	}
}

// TestEarliestCredentialsExpiry verifies that the earliest known expiry of all clusters counts.
func TestEarliestCredentialsExpiry(t *testing.T) {
	w := newFakeWorld(t)
	soon, later := time.Unix(1000, 0), time.Unix(2000, 0)
	for _, tc := range [][3]time.Time{{soon, later, soon}, {later, soon, soon}, {{}, later, later},
		{later, {}, later}} {
		access := &requests{detailedProvider{fakeProvider: w.gate, details: map[string]Access{
			ClusterMCP: {Cluster: w.home, Expires: tc[0]}, "other": {Cluster: w.home, Expires: tc[1]},
		}}}
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ClusterAccessReconciler(access).Clusters("other") }
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r, state: &objectState[*FooConfig]{}}
		w.Must(p.connect(t.Context()))
		if !p.credentialsExpire.Equal(tc[2]) {
			t.Errorf("want %s, got %s", tc[2], p.credentialsExpire)
		}
	}
}
