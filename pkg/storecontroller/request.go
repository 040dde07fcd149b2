package storecontroller

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A Request is for a pass over one primary.
type Request struct {
	// Key of the primary.
	Key string
}

// A Reconciler brings the world closer to what a primary asks for. It is called
// for one key by one goroutine at a time.
type Reconciler[T store.Object] interface {
	// Reconcile is given the primary, as a copy that is its own, or found is
	// false: the primary was deleted, and the store says so. An error is tried
	// again, with back-off; a conflict, of the store or of Kubernetes, without
	// being told of; one that reconcile.TerminalError wraps not at all.
	Reconcile(ctx context.Context, key string, obj T, found bool) (reconcile.Result, error)
}

// A ReconcilerFunc is a Reconciler.
type ReconcilerFunc[T store.Object] func(ctx context.Context, key string, obj T, found bool) (reconcile.Result, error)

// Reconcile calls the function.
func (f ReconcilerFunc[T]) Reconcile(ctx context.Context, key string, obj T, found bool) (reconcile.Result, error) {
	return f(ctx, key, obj, found)
}

// Defaults of the options.
const (
	DefaultResync            = 10 * time.Minute
	DefaultMaxGarbagePerPass = 50
	DefaultEventNamespace    = "default"
)

// StateTimeout is how long Owner waits for a store that no informer has followed yet.
const StateTimeout = 5 * time.Second

// Options of a controller. The zero value is usable.
type Options struct {
	// TypedOptions are controller-runtime's. Reconciler is ignored. NewQueue is by
	// default the queue of package controller, in which nothing starves. Its Logger, which
	// is told of failed passes, is by default that of the manager, or controller-runtime's
	// log.
	controller.TypedOptions[Request]

	// Resync is how often all primaries are looked at again and garbage is
	// collected, give or take a tenth. The default is DefaultResync; less than
	// zero is never.
	Resync time.Duration

	// Garbage says what the garbage collector may do.
	Garbage GarbagePolicy

	// Marks are those of owned objects in Kubernetes. The zero value has the domain
	// moorage.dev and reads the former names; Marks{Prefix: FormerMarkPrefix} keeps those.
	Marks Marks

	// AllEvents looks at a primary whenever it is written. The default leaves out
	// what changes only the status.
	AllEvents bool

	// Recorder of events about primaries. The default is one of the manager's, named
	// after the controller; without a manager events are dropped. EventNamespace is
	// where they are, DefaultEventNamespace by default.
	Recorder       event.Recorder
	EventNamespace string

	// Logger of what the controller itself has to say, and of what the informers have to
	// say that were given no logger. The default is the Logger of TypedOptions: that of the
	// manager, or controller-runtime's log.
	Logger logging.Logger

	// Clock tells when it is time for a resync. The default is the wall.
	Clock clock.WithTicker
}

// A GarbagePolicy bounds the collector of secondaries whose primary is gone. The
// zero value collects what is marked with the epoch of the store.
type GarbagePolicy struct {
	// Disabled collects nothing.
	Disabled bool

	// MaxPerPass is how many objects a pass deletes at most. The default is
	// DefaultMaxGarbagePerPass.
	MaxPerPass int

	// Unmarked collects also what does not say of which store its owner was, as
	// objects that others marked do, and lets DeleteWithPrimary delete it. After the store
	// was made anew that is everything: leave it off where a store can be lost.
	Unmarked bool
}

func (o Options) defaulted(mgr manager.Manager, name string) Options {
	if mgr != nil {
		o.DefaultFromConfig(mgr.GetControllerOptions())
	}
	if o.TypedOptions.Logger.GetSink() == nil && mgr != nil {
		o.TypedOptions.Logger = mgr.GetLogger()
	}
	if o.TypedOptions.Logger.GetSink() == nil { // failed passes are told to it, and to nobody else
		o.TypedOptions.Logger = log.Log
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Garbage.MaxPerPass <= 0 {
		o.Garbage.MaxPerPass = DefaultMaxGarbagePerPass
	}
	if o.Recorder == nil && mgr != nil {
		o.Recorder = event.NewRecorder(mgr.GetEventRecorder(name))
	}
	if o.Recorder == nil {
		o.Recorder = event.NewNopRecorder()
	}
	if o.EventNamespace == "" {
		o.EventNamespace = DefaultEventNamespace
	}
	if o.Logger == nil {
		o.Logger = logging.NewLogrLogger(o.TypedOptions.Logger)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}

	return o
}
