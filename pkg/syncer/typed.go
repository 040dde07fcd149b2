package syncer

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// Typed is a Syncer for objects of one Go type. FromTyped converts it to a Syncer.
type Typed[T client.Object] interface {
	Base
	translator.NameTranslator

	// SyncDown is called as Syncer.SyncDown, with an object of the Go type.
	SyncDown(ctx *synccontext.SyncContext, vObj T) (ctrl.Result, error)

	// Sync is called as Syncer.Sync, with objects of the Go type.
	Sync(ctx *synccontext.SyncContext, pObj, vObj T) (ctrl.Result, error)
}

// TypedUpSyncer is an UpSyncer for objects of one Go type.
type TypedUpSyncer[T client.Object] interface {
	SyncUp(ctx *synccontext.SyncContext, pObj T) (ctrl.Result, error)
}

// FromTyped returns a Syncer that calls the argument s. The argument obj determines the kind; FromTyped does not change
// obj. For the returned Syncer, the function As finds exactly the optional interfaces that s implements. A
// TypedUpSyncer is found as an UpSyncer.
func FromTyped[T client.Object](obj T, s Typed[T]) Syncer {
	t := typed[T]{Typed: s, obj: obj}
	if up, ok := As[TypedUpSyncer[T]](s); ok {
		return typedUp[T]{typed: t, up: up}
	}
	return t
}

// A typed adapts a Typed to a Syncer.
type typed[T client.Object] struct {
	Typed[T]

	obj T
}

func (t typed[T]) Unwrap() any { return t.Typed }

func (t typed[T]) Resource() client.Object { return t.obj.DeepCopyObject().(client.Object) }

func (t typed[T]) SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	v, err := castObject[T](vObj)
	if err != nil {
		return ctrl.Result{}, err
	}
	return t.Typed.SyncDown(ctx, v)
}

func (t typed[T]) Sync(ctx *synccontext.SyncContext, pObj, vObj client.Object) (ctrl.Result, error) {
	p, err := castObject[T](pObj)
	if err != nil {
		return ctrl.Result{}, err
	}
	v, err := castObject[T](vObj)
	if err != nil {
		return ctrl.Result{}, err
	}
	return t.Typed.Sync(ctx, p, v)
}

// A typedUp is a typed that is also an UpSyncer.
type typedUp[T client.Object] struct {
	typed[T]

	up TypedUpSyncer[T]
}

func (t typedUp[T]) SyncUp(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
	p, err := castObject[T](pObj)
	if err != nil {
		return ctrl.Result{}, err
	}
	return t.up.SyncUp(ctx, p)
}

// castObject returns the object as a T, or an error that names both types.
func castObject[T client.Object](obj client.Object) (T, error) {
	o, ok := obj.(T)
	if !ok {
		return o, errors.Errorf("cannot sync a %T: the syncer is for %T", obj, o)
	}
	return o, nil
}
