package test

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type (
	// An ObjectFn checks an object that was passed to a client, or fills in an object that the client returns.
	ObjectFn func(obj client.Object) error

	// An ObjectListFn checks or fills in a list.
	ObjectListFn func(obj client.ObjectList) error

	// A RuntimeObjectFn checks or fills in an object of which only the kind matters.
	RuntimeObjectFn func(obj runtime.Object) error
)

type (
	// A MockGetFn is called in place of Get.
	MockGetFn func(ctx context.Context, key client.ObjectKey, obj client.Object) error

	// A MockListFn is called in place of List.
	MockListFn func(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error

	// A MockCreateFn is called in place of Create.
	MockCreateFn func(ctx context.Context, obj client.Object, opts ...client.CreateOption) error

	// A MockDeleteFn is called in place of Delete.
	MockDeleteFn func(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error

	// A MockDeleteAllOfFn is called in place of DeleteAllOf.
	MockDeleteAllOfFn func(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error

	// A MockUpdateFn is called in place of Update.
	MockUpdateFn func(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error

	// A MockPatchFn is called in place of Patch.
	MockPatchFn func(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error

	// A MockApplyFn is called in place of Apply.
	MockApplyFn func(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error

	// A MockSchemeFn is called in place of Scheme.
	MockSchemeFn func() *runtime.Scheme

	// A MockGroupVersionKindForFn is called in place of GroupVersionKindFor.
	MockGroupVersionKindForFn func(obj runtime.Object) (schema.GroupVersionKind, error)

	// A MockIsObjectNamespacedFn is called in place of IsObjectNamespaced.
	MockIsObjectNamespacedFn func(obj runtime.Object) (bool, error)
)

// NewMockGetFn returns a function that calls ofn with the object to fill in, and then returns err. If one of ofn
// returns an error, the returned function returns that error at once.
func NewMockGetFn(err error, ofn ...ObjectFn) MockGetFn {
	return func(_ context.Context, _ client.ObjectKey, obj client.Object) error { return finish(err, obj, ofn) }
}

// NewMockListFn returns a function that calls ofn with the list to fill in, and then returns err. If one of ofn returns
// an error, the returned function returns that error at once.
func NewMockListFn(err error, ofn ...ObjectListFn) MockListFn {
	return func(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
		return finish(err, list, ofn)
	}
}

// NewMockCreateFn returns a function that calls ofn with the object, and then returns err. If one of ofn returns an
// error, the returned function returns that error at once.
func NewMockCreateFn(err error, ofn ...ObjectFn) MockCreateFn {
	return func(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
		return finish(err, obj, ofn)
	}
}

// NewMockDeleteFn returns a function that calls ofn with the object, and then returns err. If one of ofn returns an
// error, the returned function returns that error at once.
func NewMockDeleteFn(err error, ofn ...ObjectFn) MockDeleteFn {
	return func(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
		return finish(err, obj, ofn)
	}
}

// NewMockDeleteAllOfFn returns a function that calls ofn with the object, and then returns err. If one of ofn returns
// an error, the returned function returns that error at once.
func NewMockDeleteAllOfFn(err error, ofn ...ObjectFn) MockDeleteAllOfFn {
	return func(_ context.Context, obj client.Object, _ ...client.DeleteAllOfOption) error {
		return finish(err, obj, ofn)
	}
}

// NewMockUpdateFn returns a function that calls ofn with the object, and then returns err. If one of ofn returns an
// error, the returned function returns that error at once.
func NewMockUpdateFn(err error, ofn ...ObjectFn) MockUpdateFn {
	return func(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
		return finish(err, obj, ofn)
	}
}

// NewMockPatchFn returns a function that calls ofn with the object, and then returns err. If one of ofn returns an
// error, the returned function returns that error at once.
func NewMockPatchFn(err error, ofn ...ObjectFn) MockPatchFn {
	return func(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
		return finish(err, obj, ofn)
	}
}

// NewMockSchemeFn returns a function that returns the scheme.
func NewMockSchemeFn(scheme *runtime.Scheme) MockSchemeFn {
	return func() *runtime.Scheme { return scheme }
}

// NewMockGroupVersionKindForFn returns a function that calls rofn with the object, and then returns gvk and err. If one
// of rofn returns an error, the returned function returns gvk and that error at once.
func NewMockGroupVersionKindForFn(err error, gvk schema.GroupVersionKind,
	rofn ...RuntimeObjectFn) MockGroupVersionKindForFn {
	return func(obj runtime.Object) (schema.GroupVersionKind, error) { return gvk, finish(err, obj, rofn) }
}

// NewMockIsObjectNamespacedFn returns a function that calls rofn with the object, and then returns isNamespaced and
// err. If one of rofn returns an error, the returned function returns isNamespaced and that error at once.
func NewMockIsObjectNamespacedFn(err error, isNamespaced bool, rofn ...RuntimeObjectFn) MockIsObjectNamespacedFn {
	return func(obj runtime.Object) (bool, error) { return isNamespaced, finish(err, obj, rofn) }
}

// finish calls each function with obj, and returns the first error of a function, or
// else err.
func finish[O any, F ~func(O) error](err error, obj O, fns []F) error {
	for _, fn := range fns {
		if err := fn(obj); err != nil {
			return err
		}
	}

	return err
}

// duplicate returns a copy for a function that replaces a patch. The function may keep or change the copy without an
// effect on the object of the code under test, and vice versa.
func duplicate(obj client.Object) client.Object {
	c, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return obj
	}

	return c
}
