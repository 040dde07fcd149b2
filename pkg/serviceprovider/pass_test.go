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
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/passage"
)

// remembers returns the version that the last write of an object was answered with.
func (w *world) remembers(f *Foo) string {
	known, ok := w.r.memory.peek(client.ObjectKeyFromObject(f))
	if !ok {
		return "nothing"
	}

	return known.version
}

// TestEveryWriteIsRemembered: whichever it was, the next pass knows a cache that is behind it;
// and there is no write where nothing differs.
func TestEveryWriteIsRemembered(t *testing.T) {
	refusesStatus := func(w *world) {
		w.between(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return boom
		}})
	}
	cases := map[string]struct {
		reason string
		set    func(w *world)
		change func(f *Foo)
		delete bool
		writes bool
	}{
		"Nothing":  {"nothing is to be said", func(w *world) { w.configures(nil, boom) }, func(*Foo) {}, false, false},
		"Request":  {"the request to reconcile is taken off", func(w *world) { w.configures(nil, boom) }, func(f *Foo) { held(f); annotated(OperationReconcile)(f) }, false, true},
		"Hold":     {"the finalizer is put on", func(w *world) { refusesStatus(w); w.gate.err = boom }, func(*Foo) {}, false, true},
		"Default":  {"the object is filled up", func(w *world) { refusesStatus(w); w.gate.err = boom; w.defaults() }, held, false, true},
		"Complete": {"nothing is left out", func(w *world) { refusesStatus(w); w.gate.err = boom; w.defaults() }, func(f *Foo) { held(f); f.Spec.Size = "m" }, false, false},
		"Status":   {"the domain says how the service is doing", func(*world) {}, held, false, true},
		"Refused":  {"it says so to nobody", refusesStatus, held, false, false},
		"Release":  {"the finalizer is taken off", refusesStatus, func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, true, true},
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
			if got := w.remembers(f); (got != "") != tc.writes || tc.writes && got != after || (before != after) != tc.writes {
				t.Errorf("%s: it remembers %q, the object went from %s to %s", tc.reason, got, before, after)
			}
		})
	}
	t.Run("Gone", func(t *testing.T) {
		w := newFakeWorld(t)
		f := w.create("foo", held)
		w.between(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			w.let(f)

			return kerrors.NewNotFound(group.WithResource("foos").GroupResource(), "foo")
		}})
		w.steady(f)
		if got := w.remembers(f); got != "" {
			t.Errorf("what was not written is remembered: %s", got)
		}
	})
}

// TestReadsThatFail: nothing is said of an object that cannot be read, and nothing is kept of
// one that is gone.
func TestReadsThatFail(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", held)
	w.between(interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return boom
	}})
	if diff := cmp.Diff(ending{Name: "ReadFailed", Err: "cannot get the object: boom"}, w.ends(f)); diff != "" || len(w.r.memory.objects) != 0 {
		t.Errorf("%d in memory, -want +got:\n%s", len(w.r.memory.objects), diff)
	}

	w = newFakeWorld(t)
	f = w.create("foo", annotated(OperationReconcile))
	w.refusesPatches()
	if diff := cmp.Diff(ending{Name: "ReadFailed", Err: "cannot take the request to reconcile off the object: boom"}, w.ends(f)); diff != "" {
		t.Errorf("the request stays: -want +got:\n%s", diff)
	}

	// A cache that is behind our own writes shows what is gone.
	w = newFakeWorld(t)
	f = w.create("foo")
	old := w.get(f)
	w.steady(f)
	w.let(f)
	w.r.cached = lagging{w.API, old}
	if diff := cmp.Diff(ending{Name: "NothingToDo"}, w.ends(f)); diff != "" || len(w.r.memory.objects) != 0 {
		t.Errorf("it is gone: %d in memory, -want +got:\n%s", len(w.r.memory.objects), diff)
	}
}

// TestNothingIsKeptOfOldReads: what a cache has shown that is behind is not mixed with what the
// API server answers, also if a client leaves alone what an answer leaves out.
func TestNothingIsKeptOfOldReads(t *testing.T) {
	w := newFakeWorld(t)
	w.between(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, _ ...client.GetOption) error {
		live := newFoo()
		if err := c.Get(ctx, k, live); err != nil {
			return err
		}
		text, err := json.Marshal(live)
		if err != nil {
			return err
		}

		return json.Unmarshal(text, o)
	}})
	f := w.create("foo", annotated(OperationIgnore))
	old := w.get(f)
	w.steady(f)
	w.Change(f, func() { f.Annotations = nil })
	w.r.cached = lagging{w.home.Client(), old}
	if got := w.ends(f); got.Name != "Worked" {
		t.Errorf("it is not to be ignored any more, but got %+v", got)
	}
}

// TestConfigsOfDeletions: a deletion gets the newest configuration that there was; a source
// that has none leaves nothing for it.
func TestConfigsOfDeletions(t *testing.T) {
	for name, tc := range map[string]struct {
		before, now answer
		want        string // the image; empty: the deletion is blocked
	}{
		"it changed, and goes":   {answer{&FooConfig{Image: "v1"}, nil}, answer{&FooConfig{Image: "v2"}, ErrConfigTerminating}, "v2"},
		"it goes without a copy": {answer{&FooConfig{Image: "v1"}, nil}, answer{nil, ErrConfigTerminating}, "v1"},
		"it is gone":             {answer{&FooConfig{Image: "v1"}, nil}, answer{nil, ErrConfigNotFound}, "v1"},
		"it cannot be read":      {answer{&FooConfig{Image: "v1"}, nil}, answer{nil, boom}, "v1"},
		"there was none":         {answer{nil, nil}, answer{nil, ErrConfigNotFound}, ""},
	} {
		w := newFakeWorld(t)
		f := w.create("foo", held)
		w.restart()
		w.r.configs = tc.before
		w.steady(f)
		w.r.configs = tc.now
		w.Delete(f)
		w.steady(f)
		if tc.want == "" {
			if w.Gone(f) || len(w.domain.called()) != 0 {
				t.Errorf("%s: want it blocked, but gone is %t and the domain was called: %v", name, w.Gone(f), w.domain.calls)
			}

			continue
		}
		if !w.Gone(f) || w.domain.config.Image != tc.want {
			t.Errorf("%s: gone is %t, with %+v", name, w.Gone(f), w.domain.config)
		}
	}
}

// spoils lets the domain change the configuration that it is given.
func spoils(w *world) func(context.Context, *Foo) error {
	return func(context.Context, *Foo) error {
		w.domain.config.Image = "spoiled"

		return nil
	}
}

// TestConfigsAreCopied: what a domain changes of its configuration is not seen by others. One
// whose copies are of another type is given as it is.
func TestConfigsAreCopied(t *testing.T) {
	w := newFakeWorld(t)
	source := &FooConfig{Image: "v1"}
	w.configures(source, nil)
	w.domain.do = spoils(w)
	w.steady(w.create("foo"))
	if source.Image != "v1" || w.domain.config.Image != "spoiled" {
		t.Errorf("the source has %+v, and the domain got %+v", source, w.domain.config)
	}

	config := &stranger{FooConfig{Image: "v1"}}
	r, err := NewAPIReconcilerBuilder[*Foo, *stranger]().EmptyObjectProvider(newFoo).OnboardingCluster(w.home).PlatformCluster(w.home).
		ClusterAccessReconciler(w.gate).Reconciler(estranged{}).ConfigSource(StaticConfig[*Foo](config)).Build()
	w.Must(err)
	p := &pass[*Foo, *stranger]{r: r, known: &record[*stranger]{}}
	if p.configure(t.Context()); p.config != config || p.noConfig != nil {
		t.Errorf("got %v, %v", p.config, p.noConfig)
	}
}

type estranged struct {
	Reconciler[*Foo, *stranger]
}

// states are what became of the requests for access to each cluster.
type states struct {
	SimpleProviderAdapter

	of map[string]func() (*clustersv1alpha1.AccessRequest, error)
}

func (s *states) AccessRequest(_ context.Context, _ reconcile.Request, id string, _ ...any) (*clustersv1alpha1.AccessRequest, error) {
	return s.of[id]()
}

// TestRequestsOfADeletion: one that leaves counts more than one that is missing, and that more
// than one that is there, whichever is looked at first. An error counts most.
func TestRequestsOfADeletion(t *testing.T) {
	type state = func() (*clustersv1alpha1.AccessRequest, error)
	answers := func(r *clustersv1alpha1.AccessRequest, err error) state {
		return func() (*clustersv1alpha1.AccessRequest, error) { return r, err }
	}
	goes := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}}
	there, none, leaving, fails := answers(&clustersv1alpha1.AccessRequest{}, nil), answers(nil, nil), answers(goes, nil), answers(goes, boom)
	missing := answers(nil, kerrors.NewNotFound(clustersv1alpha1.GroupVersion.WithResource("accessrequests").GroupResource(), "foo"))
	for name, tc := range map[string]struct {
		mcp, workload state
		want          passage.Request
		err           error
	}{
		"both there":       {there, there, passage.Asked, nil},
		"nothing is said":  {none, none, passage.Asked, nil},
		"first missing":    {missing, there, passage.Missing, nil},
		"second missing":   {there, missing, passage.Missing, nil},
		"first leaves":     {leaving, missing, passage.Leaving, nil},
		"second leaves":    {missing, leaving, passage.Leaving, nil},
		"leaves and fails": {there, fails, passage.Unchecked, boom},
	} {
		w := newFakeWorld(t)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler(nil).WorkloadCluster(true).
				AdvancedClusterAccessReconciler(&states{of: map[string]state{ClusterMCP: tc.mcp, ClusterWorkload: tc.workload}, SimpleProviderAdapter: SimpleProviderAdapter{Provider: w.gate}})
		}
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r}
		if err := p.check(t.Context()); !errors.Is(err, tc.err) || p.facts.Request != tc.want {
			t.Errorf("%s: want %d and %v, got %d and %v", name, tc.want, tc.err, p.facts.Request, err)
		}
	}
}

// Two is an access provider whose clusters are not the same, or have an error.
type two struct {
	*gate

	workload *clusters.Cluster
	err      error
}

func (t two) MCPCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return t.cluster, t.err
}

func (t two) WorkloadCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return t.workload, t.err
}

// TestEachClusterByItsID: the adapter takes neither for the other, and asks no further after an
// error.
func TestEachClusterByItsID(t *testing.T) {
	w := newFakeWorld(t)
	provider := two{gate: w.gate, workload: clusters.NewTestClusterFromClient("workload", w.API)}
	for id, want := range map[string]*clusters.Cluster{ClusterMCP: w.home, ClusterWorkload: provider.workload} {
		if a, err := (SimpleProviderAdapter{Provider: provider}).Access(t.Context(), reconcile.Request{}, id); err != nil || a.Cluster != want {
			t.Errorf("%s: want %v, got %v, %v", id, want, a.Cluster, err)
		}
		failing := two{gate: w.gate, err: boom}
		if a, err := (SimpleProviderAdapter{Provider: failing}).Access(t.Context(), reconcile.Request{}, id); !errors.Is(err, boom) || a != (Access{}) {
			t.Errorf("%s: want %v alone, got %+v, %v", id, boom, a, err)
		}
	}
}

// TestOursWinsAConflict: where somebody else has said another thing of the same condition
// meanwhile, ours is said.
func TestOursWinsAConflict(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", held)
	w.domain.do = func(ctx context.Context, _ *Foo) error {
		theirs := w.get(f)
		meta.SetStatusCondition(&theirs.Status.Conditions, metav1.Condition{Type: "Ready", Status: "False", Reason: "Theirs"})
		meta.SetStatusCondition(&theirs.Status.Conditions, metav1.Condition{Type: "Backup", Status: "True", Reason: "Done"})

		return w.API.Status().Update(ctx, theirs)
	}
	want := ending{
		Name: "Worked", Phase: "Ready", Result: reconcile.Result{RequeueAfter: time.Minute},
		Says: []string{"Ready True ReconcileSuccess: Domain Service is ready", "Backup True Done: ", granted, created},
	}
	if diff := cmp.Diff(want, w.ends(f)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Opaque is an object with a status of any type.
type opaque struct {
	Foo

	status any
}

func (o *opaque) GetStatus() any { return o.status }

// TestStatusPatches: what differs, nothing if nothing does, and an error for what is no JSON,
// before or after.
func TestStatusPatches(t *testing.T) {
	bad := func() {}
	for name, tc := range map[string]struct {
		from, to any
		want     map[string]any
		fails    bool
	}{
		"the same":   {FooStatus{Phase: "a"}, FooStatus{Phase: "a"}, nil, false},
		"changed":    {FooStatus{Phase: "a", Note: "n"}, &FooStatus{Phase: "b"}, map[string]any{"phase": "b", "note": nil}, false},
		"bad before": {bad, FooStatus{}, nil, true},
		"bad after":  {FooStatus{}, bad, nil, true},
	} {
		got, err := statusPatch(&opaque{status: tc.from}, &opaque{status: tc.to})
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// TestTheFirstErrorIsFoundFirst: of two of a type, as of two that anybody branches on.
func TestTheFirstErrorIsFoundFirst(t *testing.T) {
	conflict := kerrors.NewConflict(group.WithResource("foos").GroupResource(), "foo", boom)
	missing := kerrors.NewNotFound(group.WithResource("foos").GroupResource(), "foo")
	if both := join(missing, conflict); !kerrors.IsNotFound(both) || kerrors.IsConflict(both) {
		t.Errorf("want that it is missing, got %v", both)
	}
}

// TestTheFirstCredentialsToExpire count, whichever cluster they are for; those of which nobody
// knows when do not.
func TestTheFirstCredentialsToExpire(t *testing.T) {
	w := newFakeWorld(t)
	soon, later := time.Unix(1000, 0), time.Unix(2000, 0)
	for _, tc := range [][3]time.Time{{soon, later, soon}, {later, soon, soon}, {{}, later, later}, {later, {}, later}} {
		access := &requests{detailed{gate: w.gate, details: map[string]Access{
			ClusterMCP: {Cluster: w.home, Expires: tc[0]}, "other": {Cluster: w.home, Expires: tc[1]},
		}}}
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ClusterAccessReconciler(access).Clusters("other") }
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r, known: &record[*FooConfig]{}}
		w.Must(p.open(t.Context()))
		if !p.expires.Equal(tc[2]) {
			t.Errorf("want %s, got %s", tc[2], p.expires)
		}
	}
}
