package serviceprovider

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
)

// An ending is how a pass ended, as everybody is told who can see it.
type ending struct {
	Name   string   // for the metric
	Says   []string // conditions, in their order: type, status, reason and message
	Phase  string
	Told   string // the event
	Result ctrl.Result
	Err    string
}

// A scribe writes down the last event.
type scribe struct {
	event.Recorder

	told string
}

func (s *scribe) Event(_ runtime.Object, e event.Event) {
	s.told = string(e.Type) + " " + string(e.Reason) + ": " + e.Message
}

// ends lets one pass go, and returns how it ended. An object that is gone says nothing.
func (w *world) ends(f *Foo) (e ending) {
	w.Helper()
	if w.r == nil {
		w.restart()
	}
	var s scribe
	w.r.recorder, w.r.count = &s, func(name string) { e.Name += name }
	result, err := w.pass(f)
	e.Told, e.Result = s.told, result
	if err != nil {
		e.Err = err.Error()
	}
	if got := (&Foo{ObjectMeta: *f.ObjectMeta.DeepCopy()}); w.Find(got) {
		e.Phase = got.Status.Phase
		for _, c := range got.Status.Conditions {
			e.Says = append(e.Says, c.Type+" "+string(c.Status)+" "+c.Reason+": "+c.Message)
		}
	}

	return e
}

// newFakeWorld is newWorld without an API server: over a fake client, which takes no time.
func newFakeWorld(t *testing.T) *world {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&Foo{}).Build()
	w := &world{World: testworld.New(t, client.Client(c)), ns: "fake", domain: &domain{}, teller: &teller{}, home: clusters.NewTestClusterFromClient("home", c)}
	w.gate = &gate{cluster: w.home}
	w.config = &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: "foo"}, Poll: metav1.Duration{Duration: time.Minute}, Image: "v1"}

	return w
}

// between lets functions stand between the reconciler and the onboarding cluster of a fake world.
func (w *world) between(funcs interceptor.Funcs) {
	w.home = clusters.NewTestClusterFromClient("home", interceptor.NewClient(w.API.(client.WithWatch), funcs))
	w.gate.cluster = w.home
}

// refusesPatches lets the patches of objects fail, but not those of their status.
func (w *world) refusesPatches() {
	w.between(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return boom
	}})
}

func held(f *Foo) { f.Finalizers = []string{finalizer} }

// configures lets configurations come from a source that has one, or an error.
func (w *world) configures(c *FooConfig, err error) {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(answer{c, err}) }
}

type answer struct {
	config *FooConfig
	err    error
}

func (a answer) ConfigFor(context.Context, *Foo) (*FooConfig, error) { return a.config, a.err }

func (answer) Source(func(context.Context, *FooConfig) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

const (
	granted  = "ClusterAccessReady True Granted: "
	created  = "ServiceCreated True Created: "
	deleted  = "ServiceCreated False Deleted: "
	orphaned = "ServiceCreated False Orphaned: "

	abandoned = "Warning ServiceOrphaned: access is given back without a call of Delete: what was made may be left in the clusters"

	busy = "Ready False Terminating: Cleanup in progress"
	half = 30 * time.Second
)

// An opener is an access provider that grants everything, and has one connection at most.
type opener struct {
	SimpleProviderAdapter

	plane Access
	err   error
}

func (o *opener) Access(_ context.Context, _ reconcile.Request, id string, _ ...any) (Access, error) {
	if id == ClusterMCP {
		return o.plane, o.err
	}

	return Access{}, nil
}

// opens lets the connection to the control plane be made by an opener.
func (w *world) opens(a Access, err error) {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ClusterAccessReconciler(nil).AdvancedClusterAccessReconciler(&opener{SimpleProviderAdapter{Provider: w.gate}, a, err}).WorkloadCluster(true)
	}
}

// TestEndings: how each pass ends, by its name in the metric, and what the object, its user
// and the queue are told of it.
func TestEndings(t *testing.T) {
	conflict := kerrors.NewConflict(group.WithResource("foos").GroupResource(), "foo", boom)
	cases := map[string]struct {
		reason string
		set    func(w *world)
		change func(f *Foo)
		want   ending
	}{
		"Worked": {"the domain says how the service is doing", nil, nil, ending{
			Name: "Worked", Phase: "Ready", Result: ctrl.Result{RequeueAfter: time.Minute},
			Says: []string{"Ready True ReconcileSuccess: Domain Service is ready", granted, created},
		}},
		"Polled": {"the least poll interval is one", func(w *world) { w.config.Poll.Duration = 1 }, nil, ending{
			Name: "Worked", Phase: "Ready", Result: ctrl.Result{RequeueAfter: 1},
			Says: []string{"Ready True ReconcileSuccess: Domain Service is ready", granted, created},
		}},
		"Paused": {"a user wants it left alone", nil, annotated(OperationIgnore), ending{
			Name: "Paused", Told: "Normal ReconciliationPaused: the annotation openmcp.cloud/operation says to leave it alone",
			Says: []string{"Synced False ReconcilePaused: Reconciliation is paused"},
		}},
		"NotLoaded": {"no configuration has come yet", func(w *world) { w.config = nil }, nil, ending{
			Name: "ConfigNotLoaded", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: half},
			Says: []string{"Ready False ReconcileError: No ProviderConfig found"},
		}},
		"Unknown": {"whether there is a configuration cannot be told", func(w *world) { w.configures(w.config, boom) }, nil, ending{
			Name: "ConfigUnknown", Err: "cannot tell the provider config: boom",
		}},
		"Missing": {"there is none", func(w *world) { w.configures(nil, ErrConfigNotFound) }, nil, ending{
			Name: "ConfigMissing", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
			Says: []string{"Ready False ReconcileError: No ProviderConfig found"},
		}},
		"Terminating": {"for one that is not deleted a configuration that goes is none", func(w *world) { w.configures(w.config, ErrConfigTerminating) }, nil, ending{
			Name: "ConfigMissing", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
			Says: []string{"Ready False ReconcileError: No ProviderConfig found"},
		}},
		"Waiting": {"access takes time", func(w *world) { w.gate.pending = 1 }, nil, ending{
			Name: "AccessPending", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 1},
			Says: []string{
				"Ready False WaitingForClusterAccess: Waiting for access to the clusters",
				"ClusterAccessReady False WaitingForClusterAccess: Waiting for access to the clusters",
			},
		}},
		"ClusterGone": {"there is no cluster to work in", func(w *world) { w.gate.err = ErrClusterGone }, nil, ending{
			Name: "AccessPending", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: half},
			Says: []string{
				"Ready False WaitingForClusterAccess: the cluster does not exist",
				"ClusterAccessReady False ClusterGone: the cluster does not exist",
			},
		}},
		"Denied": {"nothing is blocked, since nothing is deleted", func(w *world) { w.gate.err = ErrAccessDenied }, nil, ending{
			Name: "AccessDenied", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
			Told: "Warning ClusterAccessDenied: access to the cluster was denied",
			Says: []string{
				"Ready False ClusterAccessDenied: access to the cluster was denied",
				"ClusterAccessReady False ClusterAccessDenied: access to the cluster was denied",
			},
		}},
		"SetupFails": {"the cause shows where access does, too", func(w *world) { w.gate.err = boom }, nil, ending{
			Name: "Failed", Phase: "Progressing", Err: "cluster setup error: boom",
			Says: []string{
				"Ready False ReconcileError: cluster setup error: boom", "ClusterAccessReady False ClusterAccessFailed: cluster setup error: boom",
			},
		}},
		"SetupConflicts": {"that somebody was faster says nothing of access", func(w *world) { w.gate.err = conflict }, nil, ending{
			Name: "Failed", Result: ctrl.Result{Requeue: true}, //nolint:staticcheck // that is what is returned
			Says: []string{"ServiceCreated False NotCreated: "},
		}},
		"OpenDenied": {"what is refused when connections are made is refused, too", func(w *world) { w.opens(Access{}, ErrAccessDenied) }, nil, ending{
			Name: "AccessDenied", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
			Told: "Warning ClusterAccessDenied: access to the cluster was denied",
			Says: []string{
				"Ready False ClusterAccessDenied: access to the cluster was denied", "ClusterAccessReady False ClusterAccessDenied: access to the cluster was denied",
			},
		}},
		"OpenGone": {"what is gone by then is gone: nobody works there", func(w *world) { w.opens(Access{}, ErrClusterGone) }, nil, ending{
			Name: "AccessPending", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: half},
			Says: []string{
				"Ready False WaitingForClusterAccess: the cluster does not exist", "ClusterAccessReady False ClusterGone: the cluster does not exist",
			},
		}},
		"OpenFails": {"the error counts, not what is missing", func(w *world) { w.opens(Access{}, boom) }, nil, ending{
			Name: "Failed", Phase: "Progressing", Err: "cluster setup error: boom",
			Says: []string{"Ready False ReconcileError: cluster setup error: boom", "ClusterAccessReady False ClusterAccessFailed: cluster setup error: boom"},
		}},
		"NoPlane": {"there is no error, and no control plane", func(w *world) { w.opens(Access{}, nil) }, nil, ending{
			Name: "Failed", Phase: "Progressing", Err: "cluster setup error: mcp access missing",
			Says: []string{"Ready False ReconcileError: cluster setup error: mcp access missing", "ClusterAccessReady False ClusterAccessFailed: cluster setup error: mcp access missing"},
		}},
		"NoWorkload": {"nor a workload cluster", func(w *world) { w.opens(Access{Cluster: w.home}, nil) }, nil, ending{
			Name: "Failed", Phase: "Progressing", Err: "cluster setup error: workload cluster access missing",
			Says: []string{
				"Ready False ReconcileError: cluster setup error: workload cluster access missing", "ClusterAccessReady False ClusterAccessFailed: cluster setup error: workload cluster access missing",
			},
		}},
		"BothFail": {"both errors are told, that of the domain first", func(w *world) {
			w.domain.err = boom
			w.between(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return errAny
			}})
		}, nil, ending{Name: "Worked", Err: "boom; cannot update the status: any error"}},
		"HoldFails": {"nothing is done for an object that is not held", func(w *world) { w.refusesPatches() }, nil, ending{
			Name: "Failed", Phase: "Progressing", Err: "failed to add finalizer: cannot update object: boom",
			Says: []string{"Ready False ReconcileError: failed to add finalizer: cannot update object: boom"},
		}},
		"DefaultFails": {"what cannot be filled up is not worked on", func(w *world) { w.defaults() }, func(f *Foo) { f.Spec.Size = "bad" }, ending{
			Name: "Failed", Phase: "Progressing", Err: "failed to default object: boom",
			Says: []string{"Ready False ReconcileError: failed to default object: boom", "ServiceCreated False NotCreated: "},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			if tc.set != nil {
				tc.set(w)
			}
			change := tc.change
			if change == nil {
				change = func(*Foo) {}
			}
			f := w.create("foo", change)
			if diff := cmp.Diff(tc.want, w.ends(f)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if again := w.ends(f); again.Told != "" {
				t.Errorf("%s: told a second time: %s", tc.reason, again.Told)
			}
		})
	}
}

// blocks reports whether the object says that its deletion is blocked.
func blocks(e ending) bool {
	return slices.ContainsFunc(e.Says, func(c string) bool { return strings.HasPrefix(c, ConditionDeletionBlocked) })
}

// defaults lets the domain fill up what a user has left out.
func (w *world) defaults() {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&filler{}) }
}

// A parting domain says more of a deletion than that.
type parting struct{ domain }

func (*parting) Delete(_ context.Context, f *Foo, _ *FooConfig, _ ClusterContext) (ctrl.Result, error) {
	StatusTerminatingWithReason(f, "Parting", "bye")

	return ctrl.Result{}, nil
}

func (w *world) parts() {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&parting{}) }
}

// TestEndingsOfDeletions is the same of objects that are deleted. What is said of a blocked
// one is told once, and taken back when it goes on.
func TestEndingsOfDeletions(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    func(w *world)
		change func(f *Foo)
		want   ending
	}{
		"Released": {"nothing is left", nil, held, ending{Name: "Released"}},
		"Rest":     {"it is held by somebody else", nil, func(f *Foo) { f.Finalizers = []string{"example.org/theirs"} }, ending{Name: "NothingToDo"}},
		"Theirs": {"ours is taken off, and what was done is said", nil, func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, ending{
			Name: "Released", Phase: "Terminating", Says: []string{busy, deleted},
		}},
		"TheirsAlone": {"the same where the domain was not called", func(w *world) { w.gate.leaving = true }, func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, ending{
			Name: "Released", Phase: "Terminating", Told: abandoned, Says: []string{busy, orphaned},
		}},
		"ReleaseFails": {"it is still held", func(w *world) { w.refusesPatches() }, held, ending{
			Name: "Failed", Phase: "Terminating", Err: "failed to remove finalizer: cannot update object: boom",
			Says: []string{"Ready False ReconcileError: failed to remove finalizer: cannot update object: boom", deleted},
		}},
		"CheckFails": {"whether there is a way to the clusters cannot be told", func(w *world) { w.gate.lookErr = boom }, held, ending{
			Name: "Failed", Phase: "Terminating", Err: "failed to check access requests in deletion: boom",
			Says: []string{"Ready False ReconcileError: failed to check access requests in deletion: boom"},
		}},
		"CleanupFails": {"access is needed for that", func(w *world) { w.gate.err = boom }, held, ending{
			Name: "Failed", Phase: "Terminating", Err: "cluster cleanup error: boom",
			Says: []string{
				"Ready False ReconcileError: cluster cleanup error: boom", "ClusterAccessReady False ClusterAccessFailed: cluster cleanup error: boom",
				created,
			},
		}},
		"Cleaning": {"the least that the domain asks for is not nothing", func(w *world) { w.domain.result.RequeueAfter = 1 }, held, ending{
			Name: "Cleaning", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: 1},
			Says: []string{busy, granted, created},
		}},
		"CleaningFails": {"the domain says why", func(w *world) { w.domain.err = boom }, held, ending{
			Name: "Cleaning", Phase: "Terminating", Err: "boom", Says: []string{busy, granted, created},
		}},
		"Withdrawing": {"giving access back takes time", func(w *world) { w.gate.leaving, w.gate.deleting = true, 1 }, held, ending{
			Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: 1}, Told: abandoned, Says: []string{busy, orphaned},
		}},
		"WithdrawingFast": {"an error counts more than a time", func(w *world) { w.gate.leaving, w.gate.deleting, w.gate.deleteErr = true, 1, boom }, held, ending{
			Name: "Failed", Phase: "Terminating", Err: "failed cluster access reconcile delete: boom",
			Told: abandoned, Says: []string{"Ready False ReconcileError: failed cluster access reconcile delete: boom", orphaned},
		}},
		"Parting": {"what the domain has said of it stays while access is given back", func(w *world) { w.parts(); w.gate.deleting = time.Second }, held, ending{
			Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second}, Says: []string{"Ready False Parting: bye", deleted},
		}},
		"Parted": {"and while others hold it", func(w *world) { w.parts() }, func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, ending{
			Name: "Released", Phase: "Terminating", Says: []string{"Ready False Parting: bye", deleted},
		}},
		"WithdrawFails": {"it is tried again", func(w *world) { w.gate.leaving, w.gate.deleteErr = true, boom }, held, ending{
			Name: "Failed", Phase: "Terminating", Err: "failed cluster access reconcile delete: boom",
			Told: abandoned, Says: []string{"Ready False ReconcileError: failed cluster access reconcile delete: boom", orphaned},
		}},
		"Denied": {"that blocks", func(w *world) { w.gate.err = ErrAccessDenied }, held, ending{
			Name: "AccessDenied", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
			Told: "Warning ClusterAccessDenied: access to the cluster was denied",
			Says: []string{
				"Ready False ClusterAccessDenied: access to the cluster was denied", "ClusterAccessReady False ClusterAccessDenied: access to the cluster was denied",
				"DeletionBlocked True ClusterAccessDenied: access to the cluster was denied",
				created,
			},
		}},
		"Gone": {"so does a cluster that is gone", func(w *world) { w.gate.err = ErrClusterGone }, held, ending{
			Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
			Told: "Warning DeletionBlocked: Deletion waits for a cluster: the cluster does not exist",
			Says: []string{
				"Ready False ClusterGone: Deletion waits for a cluster: the cluster does not exist", "ClusterAccessReady False ClusterGone: Deletion waits for a cluster: the cluster does not exist",
				"DeletionBlocked True ClusterGone: Deletion waits for a cluster: the cluster does not exist",
				created,
			},
		}},
		"NotOwned": {"so does a request of somebody else", func(w *world) { w.gate.err = ErrAccessNotOwned }, held, ending{
			Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
			Told: "Warning DeletionBlocked: Deletion waits for access: the request for access belongs to somebody else",
			Says: []string{
				"Ready False ClusterAccessNotOwned: Deletion waits for access: the request for access belongs to somebody else",
				"ClusterAccessReady False ClusterAccessNotOwned: Deletion waits for access: the request for access belongs to somebody else",
				"DeletionBlocked True ClusterAccessNotOwned: Deletion waits for access: the request for access belongs to somebody else",
				created,
			},
		}},
		"GoneAndNotOwned": {"what is gone is told first", func(w *world) { w.gate.err = join(ErrAccessNotOwned, ErrClusterGone) }, held, ending{
			Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
			Told: "Warning DeletionBlocked: Deletion waits for a cluster: the request for access belongs to somebody else; the cluster does not exist",
			Says: []string{
				"Ready False ClusterGone: Deletion waits for a cluster: the request for access belongs to somebody else; the cluster does not exist",
				"ClusterAccessReady False ClusterGone: Deletion waits for a cluster: the request for access belongs to somebody else; the cluster does not exist",
				"DeletionBlocked True ClusterGone: Deletion waits for a cluster: the request for access belongs to somebody else; the cluster does not exist",
				created,
			},
		}},
		"AskedAnew": {"the request is missing, and is made again", func(w *world) { w.gate.unasked, w.gate.pending = true, time.Second }, held, ending{
			Name: "AccessPending", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
			Told: "Warning ClusterAccessMissing: Waiting for access to the clusters: an AccessRequest does not exist any more, and was made anew for the deletion",
			Says: []string{
				"Ready False WaitingForClusterAccess: Waiting for access to the clusters: an AccessRequest does not exist any more, and was made anew for the deletion",
				"ClusterAccessReady False WaitingForClusterAccess: Waiting for access to the clusters: an AccessRequest does not exist any more, and was made anew for the deletion",
				created,
			},
		}},
		"NoConfig": {"and a configuration that is missing", func(w *world) { w.configures(nil, ErrConfigNotFound) }, held, ending{
			Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
			Told: "Warning DeletionBlocked: Deletion waits for the ProviderConfig",
			Says: []string{"Ready False ConfigMissing: Deletion waits for the ProviderConfig", "DeletionBlocked True ConfigMissing: Deletion waits for the ProviderConfig", created},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			if tc.set != nil {
				tc.set(w)
			}
			f := w.create("foo", tc.change)
			w.Delete(f)
			got := w.ends(f)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if w.Gone(f) {
				return
			}
			if again := w.ends(f); again.Told != "" {
				t.Errorf("%s: told a second time: %s", tc.reason, again.Told)
			}
			if !blocks(got) {
				return
			}
			w.gate.err, w.domain.result.RequeueAfter = nil, time.Second
			w.configures(w.config, nil)
			w.restart()
			if now := w.ends(f); blocks(now) {
				t.Errorf("%s: it goes on, and still says that it is blocked: %q", tc.reason, now.Says)
			}
		})
	}
}
