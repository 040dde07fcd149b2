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

// passResult is everything that a pass reports.
type passResult struct {
	Name   string   // for the metric
	Says   []string // conditions, in their order: type, status, reason and message
	Phase  string
	Event  string // the event
	Result ctrl.Result
	Err    string
}

// lastEventRecorder keeps the last event.
type lastEventRecorder struct {
	event.Recorder

	last string
}

func (s *lastEventRecorder) Event(_ runtime.Object, e event.Event) {
	s.last = string(e.Type) + " " + string(e.Reason) + ": " + e.Message
}

// run runs one pass and returns its result. An object that is gone has no conditions.
func (w *world) run(f *Foo) (e passResult) {
	w.Helper()
	if w.r == nil {
		w.restart()
	}
	var s lastEventRecorder
	w.r.recorder, w.r.countOutcome = &s, func(name string) { e.Name += name }
	result, err := w.pass(f)
	e.Event, e.Result = s.last, result
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

// newFakeWorld returns a world with a fake client instead of an API server.
func newFakeWorld(t *testing.T) *world {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&Foo{}).Build()
	w := &world{
		World: testworld.New(t, client.Client(c)), ns: "fake", domain: &domain{}, teller: &eventRecorder{},
		home: clusters.NewTestClusterFromClient("home", c),
	}
	w.gate = &fakeProvider{cluster: w.home}
	w.config = &FooConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "foo"}, Poll: metav1.Duration{Duration: time.Minute}, Image: "v1",
	}

	return w
}

// intercept intercepts the calls to the onboarding cluster of a fake world.
func (w *world) intercept(funcs interceptor.Funcs) {
	w.home = clusters.NewTestClusterFromClient("home", interceptor.NewClient(w.API.(client.WithWatch), funcs))
	w.gate.cluster = w.home
}

// failPatches makes patches of objects fail, except those of the status.
func (w *world) failPatches() {
	w.intercept(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return boom
		},
	})
}

// withFinalizer sets our finalizer.
func withFinalizer(f *Foo) { f.Finalizers = []string{finalizer} }

// setConfigSource sets a source with one configuration or an error.
func (w *world) setConfigSource(c *FooConfig, err error) {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(fixedConfigSource{c, err}) }
}

type fixedConfigSource struct {
	config *FooConfig
	err    error
}

func (a fixedConfigSource) ConfigFor(context.Context, *Foo) (*FooConfig, error) {
	return a.config, a.err
}

func (fixedConfigSource) Source(
	func(context.Context, *FooConfig) []reconcile.Request,
) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

const (
	granted  = "ClusterAccessReady True Granted: "
	created  = "ServiceCreated True Created: "
	deleted  = "ServiceCreated False Deleted: "
	orphaned = "ServiceCreated False Orphaned: "

	abandoned = "Warning ServiceOrphaned: access is released without a call of Delete: the service may remain in the " +
		"clusters"

	busy = "Ready False Terminating: Cleanup in progress"
	half = 30 * time.Second
)

// grantingProvider is an access provider that grants access with one connection at most.
type grantingProvider struct {
	SimpleProviderAdapter

	plane Access
	err   error
}

func (o *grantingProvider) Access(_ context.Context, _ reconcile.Request, id string, _ ...any) (Access, error) {
	if id == ClusterMCP {
		return o.plane, o.err
	}

	return Access{}, nil
}

// setConnection sets the connection to the control plane.
func (w *world) setConnection(a Access, err error) {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ClusterAccessReconciler(nil).AdvancedClusterAccessReconciler(&grantingProvider{
			SimpleProviderAdapter{Provider: w.gate}, a, err,
		}).WorkloadCluster(true)
	}
}

// TestOutcomes checks for each outcome its metric label, the status, the event, and the result.
func TestOutcomes(t *testing.T) {
	conflict := kerrors.NewConflict(group.WithResource("foos").GroupResource(), "foo", boom)
	cases := map[string]struct {
		reason string
		set    func(w *world)
		change func(f *Foo)
		want   passResult
	}{
		"Worked": {"the domain sets the status", nil, nil, passResult{
			Name: "Worked", Phase: "Ready", Result: ctrl.Result{RequeueAfter: time.Minute},
			Says: []string{"Ready True ReconcileSuccess: Domain Service is ready", granted, created},
		}},
		"Polled": {"the shortest poll interval counts", func(w *world) { w.config.Poll.Duration = 1 }, nil, passResult{
			Name: "Worked", Phase: "Ready", Result: ctrl.Result{RequeueAfter: 1},
			Says: []string{"Ready True ReconcileSuccess: Domain Service is ready", granted, created},
		}},
		"Paused": {"the object is paused", nil, annotated(OperationIgnore), passResult{
			Name: "Paused", Event: "Normal ReconciliationPaused: the annotation openmcp.cloud/operation pauses reconciliation",
			Says: []string{"Synced False ReconcilePaused: Reconciliation is paused"},
		}},
		"NotLoaded": {"no configuration was loaded yet", func(w *world) { w.config = nil }, nil, passResult{
			Name: "ConfigNotLoaded", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: half},
			Says: []string{"Ready False ReconcileError: No ProviderConfig found"},
		}},
		"Unknown": {
			"the configuration cannot be read", func(w *world) { w.setConfigSource(w.config, boom) }, nil,
			passResult{
				Name: "ConfigUnknown", Err: "cannot read the provider config: boom",
			},
		},
		"Missing": {"there is no configuration", func(w *world) { w.setConfigSource(nil, ErrConfigNotFound) }, nil,
			passResult{
				Name: "ConfigMissing", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
				Says: []string{"Ready False ReconcileError: No ProviderConfig found"},
			}},
		"Terminating": {
			"for one that is not deleted a configuration that goes is none",
			func(w *world) { w.setConfigSource(w.config, ErrConfigTerminating) }, nil, passResult{
				Name: "ConfigMissing", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
				Says: []string{"Ready False ReconcileError: No ProviderConfig found"},
			},
		},
		"Waiting": {"access is pending", func(w *world) { w.gate.pending = 1 }, nil, passResult{
			Name: "AccessPending", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 1},
			Says: []string{
				"Ready False WaitingForClusterAccess: Waiting for access to the clusters",
				"ClusterAccessReady False WaitingForClusterAccess: Waiting for access to the clusters",
			},
		}},
		"ClusterGone": {"the cluster does not exist", func(w *world) { w.gate.err = ErrClusterGone }, nil, passResult{
			Name: "AccessPending", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: half},
			Says: []string{
				"Ready False WaitingForClusterAccess: the cluster does not exist",
				"ClusterAccessReady False ClusterGone: the cluster does not exist",
			},
		}},
		"Denied": {
			"a wanted object is not blocked", func(w *world) { w.gate.err = ErrAccessDenied }, nil, passResult{
				Name: "AccessDenied", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
				Event: "Warning ClusterAccessDenied: access to the cluster was denied",
				Says: []string{
					"Ready False ClusterAccessDenied: access to the cluster was denied",
					"ClusterAccessReady False ClusterAccessDenied: access to the cluster was denied",
				},
			},
		},
		"SetupFails": {"both conditions contain the cause", func(w *world) { w.gate.err = boom }, nil, passResult{
			Name: "Failed", Phase: "Progressing", Err: "cluster setup error: boom",
			Says: []string{
				"Ready False ReconcileError: cluster setup error: boom",
				"ClusterAccessReady False ClusterAccessFailed: cluster setup error: boom",
			},
		}},
		"SetupConflicts": {
			"a conflict says nothing about access", func(w *world) { w.gate.err = conflict }, nil, passResult{
				Name: "Failed", Result: ctrl.Result{Requeue: true}, //nolint:staticcheck // that is what is returned
				Says: []string{"ServiceCreated False NotCreated: "},
			},
		},
		"OpenDenied": {
			"what is refused when connections are made is refused, too",
			func(w *world) { w.setConnection(Access{}, ErrAccessDenied) }, nil, passResult{
				Name: "AccessDenied", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
				Event: "Warning ClusterAccessDenied: access to the cluster was denied",
				Says: []string{
					"Ready False ClusterAccessDenied: access to the cluster was denied",
					"ClusterAccessReady False ClusterAccessDenied: access to the cluster was denied",
				},
			},
		},
		"OpenGone": {
			"the cluster does not exist any more: the domain is not called",
			func(w *world) { w.setConnection(Access{}, ErrClusterGone) },
			nil, passResult{
				Name: "AccessPending", Phase: "Progressing", Result: ctrl.Result{RequeueAfter: half},
				Says: []string{
					"Ready False WaitingForClusterAccess: the cluster does not exist",
					"ClusterAccessReady False ClusterGone: the cluster does not exist",
				},
			},
		},
		"OpenFails": {
			"the error counts, not the missing connection", func(w *world) { w.setConnection(Access{}, boom) }, nil,
			passResult{
				Name: "Failed", Phase: "Progressing", Err: "cluster setup error: boom",
				Says: []string{
					"Ready False ReconcileError: cluster setup error: boom",
					"ClusterAccessReady False ClusterAccessFailed: cluster setup error: boom",
				},
			},
		},
		"NoPlane": {
			"no error, and no control plane", func(w *world) { w.setConnection(Access{}, nil) }, nil, passResult{
				Name: "Failed", Phase: "Progressing", Err: "cluster setup error: mcp access missing",
				Says: []string{
					"Ready False ReconcileError: cluster setup error: mcp access missing",
					"ClusterAccessReady False ClusterAccessFailed: cluster setup error: mcp access missing",
				},
			},
		},
		"NoWorkload": {
			"no error, and no workload cluster", func(w *world) { w.setConnection(Access{Cluster: w.home}, nil) },
			nil, passResult{
				Name: "Failed", Phase: "Progressing", Err: "cluster setup error: workload cluster access missing",
				Says: []string{
					"Ready False ReconcileError: cluster setup error: workload cluster access missing",
					"ClusterAccessReady False ClusterAccessFailed: cluster setup error: workload cluster access missing",
				},
			},
		},
		"BothFail": {"both errors are returned, that of the domain first", func(w *world) {
			w.domain.err = boom
			w.intercept(interceptor.Funcs{
				SubResourcePatch: func(
					context.Context, client.Client, string, client.Object, client.Patch,
					...client.SubResourcePatchOption,
				) error {
					return errAny
				},
			})
		}, nil, passResult{Name: "Worked", Err: "boom; cannot update the status: any error"}},
		"HoldFails": {"access is not requested for an object without the finalizer",
			func(w *world) { w.failPatches() }, nil, passResult{
				Name: "Failed", Phase: "Progressing", Err: "failed to add finalizer: cannot update object: boom",
				Says: []string{"Ready False ReconcileError: failed to add finalizer: cannot update object: boom"},
			}},
		"DefaultFails": {
			"the domain is not called without defaults", func(w *world) { w.setDefaulter() },
			func(f *Foo) { f.Spec.Size = "bad" }, passResult{
				Name: "Failed", Phase: "Progressing", Err: "failed to default object: boom",
				Says: []string{"Ready False ReconcileError: failed to default object: boom",
					"ServiceCreated False NotCreated: "},
			},
		},
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
			if diff := cmp.Diff(tc.want, w.run(f)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if again := w.run(f); again.Event != "" {
				t.Errorf("%s: emitted a second time: %s", tc.reason, again.Event)
			}
		})
	}
}

// isDeletionBlocked reports whether the object has DeletionBlocked True.
func isDeletionBlocked(e passResult) bool {
	return slices.ContainsFunc(e.Says, func(c string) bool { return strings.HasPrefix(c, ConditionDeletionBlocked) })
}

// setDefaulter sets a domain that is a Defaulter.
func (w *world) setDefaulter() {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&defaultingDomain{}) }
}

// deletingStatusDomain is a domain that sets a condition during a deletion.
type deletingStatusDomain struct{ domain }

func (*deletingStatusDomain) Delete(_ context.Context, f *Foo, _ *FooConfig, _ ClusterContext) (ctrl.Result, error) {
	StatusTerminatingWithReason(f, "Parting", "bye")

	return ctrl.Result{}, nil
}

// setDeletingStatusDomain sets a deletingStatusDomain.
func (w *world) setDeletingStatusDomain() {
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&deletingStatusDomain{}) }
}

// TestDeletionOutcomes checks the outcomes of deletions. A blocked deletion emits one event, and
// its condition is removed when it continues.
func TestDeletionOutcomes(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    func(w *world)
		change func(f *Foo)
		want   passResult
	}{
		"Released": {"nothing is left", nil, withFinalizer, passResult{Name: "Released"}},
		"Rest": {
			"only a foreign finalizer remains", nil, func(f *Foo) { f.Finalizers = []string{"example.org/theirs"} },
			passResult{Name: "NothingToDo"},
		},
		"Theirs": {
			"our finalizer is removed, and the status is written", nil,
			func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, passResult{
				Name: "Released", Phase: "Terminating", Says: []string{busy, deleted},
			},
		},
		"TheirsAlone": {
			"also if the domain was not called", func(w *world) { w.gate.leaving = true },
			func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, passResult{
				Name: "Released", Phase: "Terminating", Event: abandoned, Says: []string{busy, orphaned},
			},
		},
		"ReleaseFails": {"the finalizer remains", func(w *world) { w.failPatches() }, withFinalizer, passResult{
			Name: "Failed", Phase: "Terminating", Err: "failed to remove finalizer: cannot update object: boom",
			Says: []string{"Ready False ReconcileError: failed to remove finalizer: cannot update object: boom",
				deleted},
		}},
		"CheckFails": {
			"the AccessRequests cannot be read", func(w *world) { w.gate.lookErr = boom }, withFinalizer,
			passResult{
				Name: "Failed", Phase: "Terminating", Err: "failed to check access requests in deletion: boom",
				Says: []string{"Ready False ReconcileError: failed to check access requests in deletion: boom"},
			},
		},
		"CleanupFails": {"Delete needs access", func(w *world) { w.gate.err = boom }, withFinalizer, passResult{
			Name: "Failed", Phase: "Terminating", Err: "cluster cleanup error: boom",
			Says: []string{
				"Ready False ReconcileError: cluster cleanup error: boom",
				"ClusterAccessReady False ClusterAccessFailed: cluster cleanup error: boom",
				created,
			},
		}},
		"Cleaning": {
			"any RequeueAfter of the domain continues the deletion",
			func(w *world) { w.domain.result.RequeueAfter = 1 },
			withFinalizer, passResult{
				Name: "Cleaning", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: 1},
				Says: []string{busy, granted, created},
			},
		},
		"CleaningFails": {"the domain sets the status", func(w *world) { w.domain.err = boom }, withFinalizer,
			passResult{
				Name: "Cleaning", Phase: "Terminating", Err: "boom", Says: []string{busy, granted, created},
			}},
		"Withdrawing": {
			"the release of access takes time", func(w *world) { w.gate.leaving, w.gate.deleting = true, 1 },
			withFinalizer,
			passResult{
				Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: 1}, Event: abandoned,
				Says: []string{busy, orphaned},
			},
		},
		"WithdrawingFast": {
			"an error counts more than a time",
			func(w *world) { w.gate.leaving, w.gate.deleting, w.gate.deleteErr = true, 1, boom }, withFinalizer,
			passResult{
				Name: "Failed", Phase: "Terminating", Err: "failed cluster access reconcile delete: boom",
				Event: abandoned, Says: []string{
					"Ready False ReconcileError: failed cluster access reconcile delete: boom", orphaned,
				},
			},
		},
		"Parting": {
			"what the domain has said of it stays while access is given back",
			func(w *world) { w.setDeletingStatusDomain(); w.gate.deleting = time.Second }, withFinalizer, passResult{
				Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
				Says: []string{"Ready False Parting: bye", deleted},
			},
		},
		"Parted": {
			"and while others hold it", func(w *world) { w.setDeletingStatusDomain() },
			func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} }, passResult{
				Name: "Released", Phase: "Terminating", Says: []string{"Ready False Parting: bye", deleted},
			},
		},
		"WithdrawFails": {
			"it is tried again", func(w *world) { w.gate.leaving, w.gate.deleteErr = true, boom }, withFinalizer,
			passResult{
				Name: "Failed", Phase: "Terminating", Err: "failed cluster access reconcile delete: boom",
				Event: abandoned, Says: []string{
					"Ready False ReconcileError: failed cluster access reconcile delete: boom", orphaned,
				},
			},
		},
		"Denied": {"that blocks", func(w *world) { w.gate.err = ErrAccessDenied }, withFinalizer, passResult{
			Name: "AccessDenied", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: 10 * time.Minute},
			Event: "Warning ClusterAccessDenied: access to the cluster was denied",
			Says: []string{
				"Ready False ClusterAccessDenied: access to the cluster was denied",
				"ClusterAccessReady False ClusterAccessDenied: access to the cluster was denied",
				"DeletionBlocked True ClusterAccessDenied: access to the cluster was denied",
				created,
			},
		}},
		"Gone": {"so does a cluster that is gone", func(w *world) { w.gate.err = ErrClusterGone }, withFinalizer,
			passResult{
				Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
				Event: "Warning DeletionBlocked: Deletion waits for a cluster: the cluster does not exist",
				Says: []string{
					"Ready False ClusterGone: Deletion waits for a cluster: the cluster does not exist",
					"ClusterAccessReady False ClusterGone: Deletion waits for a cluster: the cluster does not exist",
					"DeletionBlocked True ClusterGone: Deletion waits for a cluster: the cluster does not exist",
					created,
				},
			}},
		"NotOwned": {
			"so does a request of somebody else", func(w *world) { w.gate.err = ErrAccessNotOwned }, withFinalizer,
			passResult{
				Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
				Event: "Warning DeletionBlocked: Deletion waits for access: the request for access has another owner",
				Says: []string{
					"Ready False ClusterAccessNotOwned: Deletion waits for access: the request for access has another owner",
					"ClusterAccessReady False ClusterAccessNotOwned: Deletion waits for access: the request for access has another " +
						"owner",
					"DeletionBlocked True ClusterAccessNotOwned: Deletion waits for access: the request for access has another owner",
					created,
				},
			},
		},
		"GoneAndNotOwned": {
			"a missing cluster is reported first",
			func(w *world) { w.gate.err = joinErrors(ErrAccessNotOwned, ErrClusterGone) },
			withFinalizer, passResult{
				Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
				Event: "Warning DeletionBlocked: Deletion waits for a cluster: the request for access has another owner; the " +
					"cluster does not exist",
				Says: []string{
					"Ready False ClusterGone: Deletion waits for a cluster: the request for access has another owner; the cluster " +
						"does not exist",
					"ClusterAccessReady False ClusterGone: Deletion waits for a cluster: the request for access has another owner; " +
						"the cluster does not exist",
					"DeletionBlocked True ClusterGone: Deletion waits for a cluster: the request for access has another owner; the " +
						"cluster does not exist",
					created,
				},
			},
		},
		"AskedAnew": {
			"the request is missing, and is made again",
			func(w *world) { w.gate.unasked, w.gate.pending = true, time.Second },
			withFinalizer, passResult{
				Name: "AccessPending", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
				Event: "Warning ClusterAccessMissing: Waiting for access to the clusters: an AccessRequest does not exist any " +
					"more, and was created again for the deletion",
				Says: []string{
					"Ready False WaitingForClusterAccess: Waiting for access to the clusters: an AccessRequest does not exist any " +
						"more, and was created again for the deletion",
					"ClusterAccessReady False WaitingForClusterAccess: Waiting for access to the clusters: an AccessRequest does " +
						"not exist any more, and was created again for the deletion",
					created,
				},
			},
		},
		"NoConfig": {
			"and a configuration that is missing", func(w *world) { w.setConfigSource(nil, ErrConfigNotFound) },
			withFinalizer,
			passResult{
				Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
				Event: "Warning DeletionBlocked: Deletion waits for the ProviderConfig",
				Says: []string{
					"Ready False ConfigMissing: Deletion waits for the ProviderConfig",
					"DeletionBlocked True ConfigMissing: Deletion waits for the ProviderConfig", created,
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			if tc.set != nil {
				tc.set(w)
			}
			f := w.create("foo", tc.change)
			w.Delete(f)
			got := w.run(f)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if w.Gone(f) {
				return
			}
			if again := w.run(f); again.Event != "" {
				t.Errorf("%s: emitted a second time: %s", tc.reason, again.Event)
			}
			if !isDeletionBlocked(got) {
				return
			}
			w.gate.err, w.domain.result.RequeueAfter = nil, time.Second
			w.setConfigSource(w.config, nil)
			w.restart()
			if now := w.run(f); isDeletionBlocked(now) {
				t.Errorf("%s: it goes on, and still says that it is blocked: %q", tc.reason, now.Says)
			}
		})
	}
}
