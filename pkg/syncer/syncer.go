package syncer

import (
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// Base is implemented by every item that can be registered. The other interfaces of this
// package that an item implements define what it does; it can implement several.
type Base interface {
	// Name is unique among the registered items. The names of the controller, of its
	// event source and of its field manager are derived from it.
	Name() string
}

// A Syncer synchronizes objects of one kind. With several workers its methods are called
// concurrently, but never for the same virtual name. Its results and errors are returned
// to the queue, with two exceptions: an API conflict is requeued without an error, and an
// error that persists until the object changes, such as an invalid object, is retried
// after Options.SlowRecheck.
type Syncer interface {
	Base
	translator.NameTranslator

	// Resource returns an empty object of the kind.
	Resource() client.Object

	// SyncDown is called for a virtual object without a host object. It usually
	// creates one.
	SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error)

	// Sync is called if both objects exist. It is not passed which of them changed; it
	// compares them. Usually it copies the spec down and the status up.
	Sync(ctx *synccontext.SyncContext, pObj client.Object, vObj client.Object) (ctrl.Result, error)
}

// An UpSyncer handles host objects without a virtual object. Without this interface such
// a host object is deleted if it is managed.
type UpSyncer interface {
	// SyncUp is called for every host object, managed or not, that is mapped to a
	// virtual name without an object. DeleteObject confirms that the virtual object is
	// gone.
	SyncUp(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error)
}

// A FakeSyncer creates virtual objects that other virtual objects refer to, for instance
// the nodes of pods, without access to the nodes of the host. It needs events of the
// referring objects, so it usually is a ControllerModifier. FakeSync deletes objects that
// are no longer needed; there is no garbage collection.
type FakeSyncer interface {
	Base

	// Resource returns an empty object of the kind.
	Resource() client.Object

	// FakeSyncUp is called for every enqueued name without a virtual object. It checks
	// whether an object is needed and creates it.
	FakeSyncUp(ctx *synccontext.SyncContext, req types.NamespacedName) (ctrl.Result, error)

	// FakeSync is called for an existing virtual object.
	FakeSync(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error)
}

// A Starter is called before and after every pass of its syncer or fake syncer.
type Starter interface {
	// ReconcileStart is called before the pass. If it returns true or an error, the pass
	// is skipped. The error is returned to the queue.
	ReconcileStart(ctx *synccontext.SyncContext, req ctrl.Request) (bool, error)

	// ReconcileEnd is called after every ReconcileStart, also if the pass was skipped,
	// failed or panicked.
	ReconcileEnd()
}

// A StarterV2 is a Starter with an end function per pass, which receives the result of
// the pass. So passes of several workers do not share state.
type StarterV2 interface {
	// ReconcileStart is called before the pass. If it returns skip or an error, the pass
	// is skipped. The returned end function, unless it is nil, is called after the pass
	// with the result and error for the queue, also if the pass was skipped, failed or
	// panicked.
	ReconcileStart(ctx *synccontext.SyncContext, req ctrl.Request) (skip bool, end func(ctrl.Result, error), err error)
}

// An Initializer is called first, for example to install kinds. The clients of the
// managers do not work yet; create one from the configuration of a manager.
type Initializer interface {
	Init(registerContext *synccontext.RegisterContext) error
}

// An IndicesRegisterer is called after all Initializers and before the caches start.
type IndicesRegisterer interface {
	RegisterIndices(ctx *synccontext.RegisterContext) error
}

// A ControllerModifier adds watches to the controller of its syncer or fake syncer or
// changes the options of the controller. It is called when the caches have synced.
type ControllerModifier interface {
	ModifyController(ctx *synccontext.RegisterContext, builder *builder.Builder) (*builder.Builder, error)
}

// A ControllerStarter registers its own controllers, for tasks that do not fit a Syncer.
type ControllerStarter interface {
	Register(ctx *synccontext.RegisterContext) error
}

// A Wrapper wraps another value. As finds the optional interfaces of the wrapped value,
// unless the wrapper implements them itself.
type Wrapper interface {
	Unwrap() any
}

// As returns v, or the value that it wraps, as T. It returns false if none of them
// implements T. See Wrapper.
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
