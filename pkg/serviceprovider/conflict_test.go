package serviceprovider

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// faster is the error of a write that comes after that of somebody else.
func faster() error {
	return kerrors.NewConflict(group.WithResource("foos").GroupResource(), "foo", boom)
}

// TestConflictsAreTriedAgain: that somebody was faster is no error, whichever write it was, and
// what the domain has said is stored if it can be.
func TestConflictsAreTriedAgain(t *testing.T) {
	again := ctrl.Result{Requeue: true} //nolint:staticcheck // that is what is returned
	for name, tc := range map[string]struct {
		reason string
		set    func(w *world)
		want   ending
	}{
		"OfTheDomain": {"its status is stored", func(w *world) { w.domain.err = faster() }, ending{
			Name: "Worked", Phase: "Progressing", Result: again, Says: []string{"Ready False DomainError: " + faster().Error(), granted, created},
		}},
		"OfTheStatus": {"twice in one pass", (*world).statusConflicts, ending{Name: "Worked", Result: again}},
		"OfBoth": {"the error of the domain is one of these, too", func(w *world) {
			w.domain.err = faster()
			w.statusConflicts()
		}, ending{Name: "Worked", Result: again}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			tc.set(w)
			if diff := cmp.Diff(tc.want, w.ends(w.create("foo", held))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// statusConflicts lets every write of the status come after that of somebody else.
func (w *world) statusConflicts() {
	w.between(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return faster()
	}})
}

// TestRefusedWritesAreNotRemembered: the version of an object that was only read is none that
// the next pass waits for.
func TestRefusedWritesAreNotRemembered(t *testing.T) {
	w := newFakeWorld(t)
	w.between(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return boom
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return boom
		},
	})
	deleted, made := w.create("deleted", held), w.create("made")
	w.Delete(deleted)
	for _, f := range []*Foo{deleted, made} {
		if _, err := w.pass(f); err == nil || w.remembers(f) != "" {
			t.Errorf("%s: want an error, and nothing remembered, got %v and %q", f.Name, err, w.remembers(f))
		}
	}
}

// A changeling is an object whose copies are of another type.
type changeling struct{ Foo }

func (c *changeling) DeepCopyObject() runtime.Object { return c.Foo.DeepCopyObject() }

// TestChangelings: nothing is done for, or kept of, an object whose status could not be
// compared with what it was.
func TestChangelings(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	r := &APIReconciler[*changeling, *FooConfig]{
		empty: func() *changeling { return &changeling{} }, cached: reads{f}, memory: newMemory[*FooConfig](), onboarding: w.home,
	}
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(f)})
	if err == nil || err.Error() != "a copy of *serviceprovider.changeling is of another type" || len(r.memory.objects) != 0 {
		t.Errorf("got %v, %d in memory", err, len(r.memory.objects))
	}
}

// reads is a reader of one object.
type reads struct{ f *Foo }

func (r reads) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.(*changeling).Foo = *r.f

	return nil
}

func (reads) List(context.Context, client.ObjectList, ...client.ListOption) error { return boom }
