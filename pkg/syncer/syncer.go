package syncer

import (
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// Base is the interface of every item that a Runner can register. An item also implements one or
// more of the other interfaces of this package, which define what it does.
type Base interface {
	// Name returns the name of the item, which must be unique among the registered items. The names of the item's
	// controller, event source and field manager are derived from this name.
	Name() string
}

// A Syncer synchronizes objects of one kind. With several workers the methods are called concurrently. They are never
// called concurrently for the same virtual name (the namespace and name of a virtual object).
//
// The results and errors of the methods are returned to the queue, with two exceptions. An API
// conflict is requeued without an error. An error that persists until the object changes, such as
// an invalid object, is retried after Options.SlowRecheck.
type Syncer interface {
	Base
	translator.NameTranslator

	// Resource returns an empty object of the kind.
	Resource() client.Object

	// SyncDown is called for a virtual object without a host object. It usually creates the host
	// object.
	SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error)

	// Sync is called if both objects exist. Sync usually copies the spec to the host object and the status to the virtual
	// object. It has to compare the objects, because it does not get the event that caused the pass.
	Sync(ctx *synccontext.SyncContext, pObj client.Object, vObj client.Object) (ctrl.Result, error)
}

// An UpSyncer handles host objects without a virtual object. If a syncer is not an UpSyncer, the
// reconciler deletes such host objects, provided that IsManaged returns true for them.
type UpSyncer interface {
	// SyncUp is called for a host object whose virtual name has no virtual object. It is called even
	// if IsManaged returns false for the host object. To delete the host object, call DeleteObject,
	// which confirms that the virtual object is gone.
	SyncUp(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error)
}

// A FakeSyncer creates virtual objects that other virtual objects refer to. For example, it creates
// the nodes of pods without access to the nodes of the host. It usually is also a
// ControllerModifier, because it needs events of the referring objects. There is no garbage
// collection: FakeSync has to delete objects that are no longer needed.
type FakeSyncer interface {
	Base

	// Resource returns an empty object of the kind.
	Resource() client.Object

	// FakeSyncUp is called for every enqueued name without a virtual object. It checks whether a
	// virtual object is needed, and creates it if so.
	FakeSyncUp(ctx *synccontext.SyncContext, req types.NamespacedName) (ctrl.Result, error)

	// FakeSync is called for an existing virtual object.
	FakeSync(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error)
}

// A Starter is a syncer or fake syncer with methods that are called before and after every pass
// (one call of Reconcile).
type Starter interface {
	// ReconcileStart is called before the pass. If it returns true or an error, the pass is skipped.
	// An error is returned to the queue.
	ReconcileStart(ctx *synccontext.SyncContext, req ctrl.Request) (bool, error)

	// ReconcileEnd is called after every ReconcileStart, even if the pass was skipped, failed or
	// panicked.
	ReconcileEnd()
}

// A StarterV2 is a Starter whose ReconcileStart returns an end function. The end function receives
// the result of its pass, so passes of several workers need no shared state.
type StarterV2 interface {
	// ReconcileStart is called before the pass. If it returns skip or an error, the pass is skipped.
	// Unless end is nil, end is called after the pass with the result and error for the queue, even if
	// the pass was skipped, failed or panicked.
	ReconcileStart(ctx *synccontext.SyncContext, req ctrl.Request) (skip bool, end func(ctrl.Result, error), err error)
}

// An Initializer is called before indices are registered and caches start, for example to install
// CRDs. The clients of the managers do not work yet: create a client from the configuration of a
// manager.
type Initializer interface {
	Init(registerContext *synccontext.RegisterContext) error
}

// An IndicesRegisterer registers indices of the caches. It is called after all Initializers and
// before the caches start.
type IndicesRegisterer interface {
	RegisterIndices(ctx *synccontext.RegisterContext) error
}

// A ControllerModifier changes the controller of its syncer or fake syncer, for example to add
// watches. It is called when the caches have synced.
type ControllerModifier interface {
	ModifyController(ctx *synccontext.RegisterContext, builder *builder.Builder) (*builder.Builder, error)
}

// A ControllerStarter registers its own controllers, for tasks that do not fit a Syncer.
type ControllerStarter interface {
	Register(ctx *synccontext.RegisterContext) error
}

// A Wrapper wraps another value. As finds the optional interfaces of the wrapped value, except
// those that the wrapper implements itself.
type Wrapper interface {
	Unwrap() any
}

// As returns the argument v as T if v implements T. Otherwise As tries the value that v wraps (see Wrapper), and then
// the value that this one wraps, and so on. It returns false if none of these values implements T.
func As[T any](v any) (T, bool) {
	for v != nil {
		if found, ok := v.(T); ok {
			return found, true
		}
		w, ok := v.(Wrapper)
		if !ok {
			break
		}
		v = w.Unwrap()
	}
	var none T
	return none, false
}
