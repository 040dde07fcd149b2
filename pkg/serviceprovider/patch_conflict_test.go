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

	"github.com/moorage-dev/moorage/internal/records"
)

// conflictError returns the conflict error of an optimistic lock.
func conflictError() error {
	return kerrors.NewConflict(group.WithResource("foos").GroupResource(), "foo", boom)
}

// TestConflictsAreRetried verifies that a conflict of any write is retried without an error, and
// that the status of the domain is stored if possible.
func TestConflictsAreRetried(t *testing.T) {
	again := ctrl.Result{Requeue: true} //nolint:staticcheck // that is what is returned
	for name, tc := range map[string]struct {
		reason string
		set    func(w *world)
		want   passResult
	}{
		"OfTheDomain": {"its status is stored", func(w *world) { w.domain.err = conflictError() }, passResult{
			Name: "Worked", Phase: "Progressing", Result: again, Says: []string{
				"Ready False DomainError: " + conflictError().Error(), granted, created,
			},
		}},
		"OfTheStatus": {"twice in one pass", (*world).statusConflicts, passResult{Name: "Worked", Result: again}},
		"OfBoth": {"the error of the domain is one of these, too", func(w *world) {
			w.domain.err = conflictError()
			w.statusConflicts()
		}, passResult{Name: "Worked", Result: again}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			tc.set(w)
			if diff := cmp.Diff(tc.want, w.run(w.create("foo", withFinalizer))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// statusConflicts makes every status write fail with a conflict.
func (w *world) statusConflicts() {
	w.intercept(interceptor.Funcs{
		SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return conflictError()
		},
	})
}

// TestFailedWritesStoreNoVersion verifies that only successful writes store a resourceVersion to
// wait for.
func TestFailedWritesStoreNoVersion(t *testing.T) {
	w := newFakeWorld(t)
	w.intercept(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return boom
		},
		SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return boom
		},
	})
	deleted, made := w.create("deleted", withFinalizer), w.create("made")
	w.Delete(deleted)
	for _, f := range []*Foo{deleted, made} {
		if _, err := w.pass(f); err == nil || w.writtenVersion(f) != "" {
			t.Errorf("%s: want an error, and nothing remembered, got %v and %q", f.Name, err, w.writtenVersion(f))
		}
	}
}

// wrongCopy is an object whose DeepCopyObject returns another type.
type wrongCopy struct{ Foo }

func (c *wrongCopy) DeepCopyObject() runtime.Object { return c.Foo.DeepCopyObject() }

// TestObjectWithCopyOfAnotherType verifies that such an object is neither reconciled nor
// remembered.
func TestObjectWithCopyOfAnotherType(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	r := &APIReconciler[*wrongCopy, *FooConfig]{
		newObject: func() *wrongCopy {
			return &wrongCopy{}
		}, cache: singleReader{f}, states: records.New[objectState[*FooConfig]](nil), onboarding: w.home,
	}
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(f)})
	if err == nil || err.Error() != "a copy of *serviceprovider.wrongCopy is of another type" ||
		r.states.Len() != 0 {
		t.Errorf("got %v, %d in memory", err, r.states.Len())
	}
}

// singleReader is a reader of one object.
type singleReader struct{ f *Foo }

func (r singleReader) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.(*wrongCopy).Foo = *r.f

	return nil
}

func (singleReader) List(context.Context, client.ObjectList, ...client.ListOption) error { return boom }
