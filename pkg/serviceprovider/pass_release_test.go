package serviceprovider

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// releasingProvider is an access provider that notifies a test when access is released.
type releasingProvider struct {
	*fakeProvider

	back func()
}

func (l *releasingProvider) ReconcileDelete(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	l.back()

	return l.fakeProvider.ReconcileDelete(ctx, r)
}

// setReleasingProvider sets the access provider.
func (w *world) setReleasingProvider(l *releasingProvider) {
	l.fakeProvider = w.gate
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ClusterAccessReconciler(l) }
	w.restart()
}

// TestReleaseIsRecordedFirst verifies that ServiceCreated is False before access is released. If
// the process ends then, the next one continues without a second Delete while the request is being
// deleted.
func TestReleaseIsRecordedFirst(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	said := ""
	w.setReleasingProvider(&releasingProvider{back: func() {
		said = w.condition(f,
			serviceCreated)
		panic(processEnd{})
	}})
	w.crash(f)
	if said != "False/Deleted" {
		t.Errorf("when access is given back the object says %s", said)
	}
	w.build = nil
	w.restart()
	w.gate.leaving, w.gate.deleting = true, time.Second
	if got := w.run(f); got.Name != "Withdrawing" || got.Event != "" {
		t.Errorf("the next process ends its pass with %+v", got)
	}
	if diff := cmp.Diff([]string{"CreateOrUpdate", "Delete"}, w.domain.called()); diff != "" {
		t.Errorf("calls of the domain: -want +got:\n%s", diff)
	}
}

// TestReleaseNeedsStoredStatus verifies that access is not released while the status cannot be
// written, or after a conflict, if the status says that something was created.
func TestReleaseNeedsStoredStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		fails bool // the write
		want  string
	}{
		"Refused":  {true, "failed cluster access reconcile delete: cannot update the status: boom"},
		"Conflict": {false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			f := w.create("foo")
			w.steady(f)
			w.Delete(f)
			if tc.fails {
				w.intercept(interceptor.Funcs{
					SubResourcePatch: func(
						context.Context, client.Client, string, client.Object, client.Patch,
						...client.SubResourcePatchOption,
					) error {
						return boom
					},
				})
			} else {
				w.domain.do = func(context.Context, *Foo) error {
					w.Change(f, func() { f.Labels = map[string]string{"theirs": "new"} })

					return nil
				}
			}
			w.setReleasingProvider(&releasingProvider{back: func() { t.Error("access is given back") }})
			if got := w.run(f); got.Name != "Failed" || tc.want != "" && !slices.Contains([]string{
				tc.want, tc.want + "; cannot update the status: boom",
			}, got.Err) {
				t.Errorf("got %+v", got)
			}
			if got := w.condition(f, serviceCreated); got != "True/Created" {
				t.Errorf("the object says %s", got)
			}
			w.domain.do = nil
			w.home, w.build = clusters.NewTestClusterFromClient("home", w.API), nil
			w.gate.cluster = w.home
			w.restart()
			if w.steady(f); !w.Gone(f) {
				t.Error("it is not let go")
			}
		})
	}
}

// TestRequestDeletedByThirdParty verifies that an AccessRequest that is being deleted does not
// orphan a recorded service: access is requested again, with an event.
func TestRequestDeletedByThirdParty(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	w.gate.leaving, w.gate.pending = true, time.Second
	for _, ev := range []string{
		"Warning ClusterAccessMissing: Waiting for access to the clusters: an AccessRequest is being deleted, and is " +
			"created again for the deletion", "",
	} {
		got := w.run(f)
		if got.Name != "AccessPending" || got.Event != ev || !slices.Contains(got.Says, created) {
			t.Errorf("got %+v", got)
		}
	}
	w.gate.leaving, w.gate.pending = false, 0
	w.steady(f)
	if diff := cmp.Diff([]string{"CreateOrUpdate", "Delete"}, w.domain.called()); diff != "" || !w.Gone(f) {
		t.Errorf("gone %t, calls of the domain: -want +got:\n%s", w.Gone(f), diff)
	}
}

// TestReleaseByPreviousRuntimeAfterReadError verifies that a read error of the platform leaves no
// record of ours while a previous runtime releases access, so Delete is not called again.
func TestReleaseByPreviousRuntimeAfterReadError(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", withFinalizer)
	w.Delete(f)
	w.gate.lookErr = boom
	w.passFails(f)
	w.gate.lookErr, w.gate.leaving = nil, true
	if got := w.run(f); got.Event != abandoned || !w.Gone(f) {
		t.Errorf("got %+v", got)
	}
	if got := w.domain.called(); len(got) != 0 {
		t.Errorf("calls of the domain: %v", got)
	}
}

// silentDomain is a domain whose Delete does not set the status.
type silentDomain struct{ domain }

func (*silentDomain) Delete(context.Context, *Foo, *FooConfig, ClusterContext) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// TestDeletedIsNotReady verifies that a deleted service is not Ready, also if Delete does not set
// the status, and that it is not reported as orphaned if the process ends then.
func TestDeletedIsNotReady(t *testing.T) {
	w := newFakeWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&silentDomain{}) }
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	w.gate.deleting = time.Second
	if diff := cmp.Diff([]string{busy, granted, deleted}, w.run(f).Says); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.restart()
	w.gate.leaving = true
	if got := w.run(f); got.Event != "" {
		t.Errorf("unexpected event %q", got.Event)
	}
}
