// Package testworld has the operations of tests on an API server. Tests of any layer import it:
// it imports no reconciler.
//
// Many packages have a world of their own, a struct with all that a test needs. It embeds a
// World where the test works on an API server, or checks errors:
//
//	type world struct {
//		testworld.World[client.Client]
//		...
//	}
//	w := &world{World: testworld.New(t, api)}
//	w.Create(volume)
//	w.Must(reconcile(w.API))
//
// Marked returns an object whose creation is recorded.
package testworld

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A T is what a World uses of a *testing.T. The deadline bounds the waits of pkg/test/wait.
type T interface {
	testing.TB
	Deadline() (deadline time.Time, ok bool)
}

// A World is an API server, real or fake, as a test sees it. Each verb fails the test on an
// error. Without an API there is Must alone.
type World[C client.Client] struct {
	T

	API C
}

// New returns the World of a test.
func New[C client.Client](t T, api C) World[C] { return World[C]{T: t, API: api} }

// Must fails the test on an error.
func (w World[C]) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Create creates objects, one after the other.
func (w World[C]) Create(objs ...client.Object) {
	w.Helper()
	for _, obj := range objs {
		w.Must(w.API.Create(w.Context(), obj))
	}
}

// Read reads the object at the key of obj into obj.
func (w World[C]) Read(obj client.Object) {
	w.Helper()
	w.Must(w.read(obj))
}

// Find is Read for an object that may not exist, and reports whether it does. If it does not,
// obj stays as it is.
func (w World[C]) Find(obj client.Object) bool {
	w.Helper()
	err := w.read(obj)
	if !apierrors.IsNotFound(err) {
		w.Must(err)
	}

	return err == nil
}

// Gone reports whether no object with the key of obj exists. It does not change obj.
func (w World[C]) Gone(obj client.Object) bool {
	w.Helper()

	return !w.Find(obj.DeepCopyObject().(client.Object)) // a copy has the type of its original
}

// Change reads obj, changes it, and patches the changed fields, as a user does. The status is
// not changed where it is a subresource.
func (w World[C]) Change(obj client.Object, change func()) {
	w.Helper()
	w.Read(obj)
	before := client.MergeFrom(obj.DeepCopyObject().(client.Object)) // a copy has the type of its original
	change()
	w.Must(w.API.Patch(w.Context(), obj, before))
}

// Delete deletes an object, which may stay for its finalizers.
func (w World[C]) Delete(obj client.Object) {
	w.Helper()
	w.Must(w.API.Delete(w.Context(), obj))
}

// Await reads obj until it exists and holds returns true. If the test's budget ends before
// that, the test fails and logs the object.
func (w World[C]) Await(obj client.Object, what string, holds func() bool) {
	w.Helper()
	held := false
	defer func() {
		if !held {
			last, err := json.Marshal(obj)
			w.Logf("last read: %s (%v)", last, err)
		}
	}()
	wait.Until(w, obj.GetName()+" "+what, func() bool {
		held = w.Find(obj) && holds()

		return held
	})
}

// read reads into an empty object first: a decoder keeps fields that the answer lacks.
func (w World[C]) read(obj client.Object) error {
	into := reflect.ValueOf(obj).Elem()
	got := reflect.New(into.Type())
	fresh := got.Interface().(client.Object) // it has the type of obj
	fresh.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	if err := w.API.Get(w.Context(), client.ObjectKeyFromObject(obj), fresh); err != nil {
		return err
	}
	into.Set(got.Elem())

	return nil
}
