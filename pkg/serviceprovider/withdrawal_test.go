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

// A withdrawal is an access provider that tells a test when access is given back.
type withdrawal struct {
	*gate

	back func()
}

func (l *withdrawal) ReconcileDelete(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	l.back()

	return l.gate.ReconcileDelete(ctx, r)
}

// gives lets access be given back by a withdrawal.
func (w *world) gives(l *withdrawal) {
	l.gate = w.gate
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ClusterAccessReconciler(l) }
	w.restart()
}

// TestWithdrawalIsRecordedFirst: that access is given back is stored before it is. A process that
// ends then goes on with that, and calls Delete no second time when the request is being deleted.
func TestWithdrawalIsRecordedFirst(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	said := ""
	w.gives(&withdrawal{back: func() { said = w.condition(f, serviceCreated); panic(processEnd{}) }})
	w.dies(f)
	if said != "False/Deleted" {
		t.Errorf("when access is given back the object says %s", said)
	}
	w.build = nil
	w.restart()
	w.gate.leaving, w.gate.deleting = true, time.Second
	if got := w.ends(f); got.Name != "Withdrawing" || got.Told != "" {
		t.Errorf("the next process ends its pass with %+v", got)
	}
	if diff := cmp.Diff([]string{"CreateOrUpdate", "Delete"}, w.domain.called()); diff != "" {
		t.Errorf("calls of the domain: -want +got:\n%s", diff)
	}
}

// TestWithdrawalWaitsForItsRecord: while the status cannot be written, or somebody else has written
// it meanwhile, nothing is given back, if the status says that something was made.
func TestWithdrawalWaitsForItsRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		fails bool // the write
		want  string
	}{"Refused": {true, "failed cluster access reconcile delete: cannot update the status: boom"}, "Conflict": {false, ""}} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			f := w.create("foo")
			w.steady(f)
			w.Delete(f)
			if tc.fails {
				w.between(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
					return boom
				}})
			} else {
				w.domain.do = func(context.Context, *Foo) error {
					w.Change(f, func() { f.Labels = map[string]string{"theirs": "new"} })

					return nil
				}
			}
			w.gives(&withdrawal{back: func() { t.Error("access is given back") }})
			if got := w.ends(f); got.Name != "Failed" || tc.want != "" && !slices.Contains([]string{tc.want, tc.want + "; cannot update the status: boom"}, got.Err) {
				t.Errorf("got %+v", got)
			}
			if got := w.condition(f, serviceCreated); tc.fails && got != "True/Created" {
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

// TestSomebodyElseDeletesTheRequest: an AccessRequest that is being deleted is no reason to let go
// of what our record says was made. Access is asked for again, with an event.
func TestSomebodyElseDeletesTheRequest(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	w.gate.leaving, w.gate.pending = true, time.Second
	for _, told := range []string{
		"Warning ClusterAccessMissing: Waiting for access to the clusters: an AccessRequest is being deleted, and is made anew for the deletion", "",
	} {
		got := w.ends(f)
		if got.Name != "AccessPending" || got.Told != told || !slices.Contains(got.Says, created) {
			t.Errorf("got %+v", got)
		}
	}
	w.gate.leaving, w.gate.pending = false, 0
	w.steady(f)
	if diff := cmp.Diff([]string{"CreateOrUpdate", "Delete"}, w.domain.called()); diff != "" || !w.Gone(f) {
		t.Errorf("gone %t, calls of the domain: -want +got:\n%s", w.Gone(f), diff)
	}
}

// TestWithdrawalAfterAFailedLook: the runtime before is giving access back, and the platform does
// not answer at first. That leaves no record of ours, so that Delete is not called again.
func TestWithdrawalAfterAFailedLook(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", held)
	w.Delete(f)
	w.gate.lookErr = boom
	w.fails(f)
	w.gate.lookErr, w.gate.leaving = nil, true
	if got := w.ends(f); got.Told != abandoned || !w.Gone(f) {
		t.Errorf("got %+v", got)
	}
	if got := w.domain.called(); len(got) != 0 {
		t.Errorf("calls of the domain: %v", got)
	}
}

// A quiet domain leaves the status alone when it deletes.
type quiet struct{ domain }

func (*quiet) Delete(context.Context, *Foo, *FooConfig, ClusterContext) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// TestDeletedIsNotReady: a service that was removed is not Ready any more, also if its Delete says
// nothing. Nor is it told that it may be left, when the process ends then.
func TestDeletedIsNotReady(t *testing.T) {
	w := newFakeWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&quiet{}) }
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	w.gate.deleting = time.Second
	if diff := cmp.Diff([]string{busy, granted, deleted}, w.ends(f).Says); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.restart()
	w.gate.leaving = true
	if got := w.ends(f); got.Told != "" {
		t.Errorf("told %q", got.Told)
	}
}
