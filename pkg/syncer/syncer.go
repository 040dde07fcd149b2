package syncer

import (
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// Base is what everything that can be registered has: a name. What it does is found
// by the other interfaces of this package that it implements, as many as it likes.
type Base interface {
	// Name is unique among what is registered. It names the controller, its events
	// and its field manager.
	Name() string
}

// A Syncer keeps objects of one kind in step. Its methods are called from several
// goroutines if there are several workers, each for another virtual name. Results
// and errors are handed on to the queue; conflicts and invalid objects are treated
// as they deserve, see Options.
type Syncer interface {
	Base
	translator.NameTranslator

	// Resource returns an empty object of the kind.
	Resource() client.Object

	// SyncDown is called for a virtual object without a host object. It usually
	// makes one.
	SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error)

	// Sync is called if both exist. It is not told which of them changed: it
	// compares. Usually what is wanted (spec) flows down and what is (status) flows
	// up.
	Sync(ctx *synccontext.SyncContext, pObj client.Object, vObj client.Object) (ctrl.Result, error)
}

// An UpSyncer decides what becomes of a host object without a virtual one. Without
// it, the host object is deleted if it is managed.
type UpSyncer interface {
	// SyncUp is called for every host object that leads to a virtual name under
	// which there is nothing, managed or not. DeleteObject still makes sure that the
	// virtual object is gone.
	SyncUp(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error)
}

// A FakeSyncer makes objects in the virtual cluster for what refers to them: nodes
// for pods, for instance, without access to the host's nodes. It needs events of
// what refers, and so usually is a ControllerModifier. Nothing is collected for it:
// FakeSync deletes what is not needed any more.
type FakeSyncer interface {
	Base

	// Resource returns an empty object of the kind.
	Resource() client.Object

	// FakeSyncUp is called for a name under which there is no virtual object. It is
	// called for every such name that an event led to, so it checks whether one is
	// needed.
	FakeSyncUp(ctx *synccontext.SyncContext, req types.NamespacedName) (ctrl.Result, error)

	// FakeSync is called for a virtual object.
	FakeSync(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error)
}

// A Starter is called around every pass of its syncer or fake syncer.
type Starter interface {
	// ReconcileStart is called first. With true or an error the pass ends there,
	// the error being its result.
	ReconcileStart(ctx *synccontext.SyncContext, req ctrl.Request) (bool, error)

	// ReconcileEnd is called after every ReconcileStart, whatever became of the
	// pass.
	ReconcileEnd()
}

// A StarterV2 is a Starter whose end is told what became of the pass. Passes of
// several workers do not get in each other's way, because each has its own end.
type StarterV2 interface {
	// ReconcileStart is called first. With true or an error the pass ends there. The
	// end, unless it is nil, is called last, whatever became of the pass, with what the
	// queue is told.
	ReconcileStart(ctx *synccontext.SyncContext, req ctrl.Request) (skip bool, end func(ctrl.Result, error), err error)
}

// An Initializer is called before everything else, for example to install kinds.
// The clients of the managers do not work yet; make one from their configuration.
type Initializer interface {
	Init(registerContext *synccontext.RegisterContext) error
}

// An IndicesRegisterer is called after all initializers, before caches are filled.
type IndicesRegisterer interface {
	RegisterIndices(ctx *synccontext.RegisterContext) error
}

// A ControllerModifier adds watches to the controller of its syncer or fake syncer
// or changes its options. Caches are filled by then, and clients work.
type ControllerModifier interface {
	ModifyController(ctx *synccontext.RegisterContext, builder *builder.Builder) (*builder.Builder, error)
}

// A ControllerStarter registers controllers of its own, for what no syncer fits.
type ControllerStarter interface {
	Register(ctx *synccontext.RegisterContext) error
}

// A Wrapper is made around another value, whose optional interfaces are found
// through it. What the wrapper implements itself comes first.
type Wrapper interface {
	Unwrap() any
}

// As finds an interface on a value or on what it is wrapped around, see Wrapper.
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
