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

// A Request requests a reconcile of one primary.
type Request struct {
	// Key is the key of the primary.
	Key string
}

// A Reconciler makes the actual state match the spec of a primary. For one key, only one goroutine at a time calls it.
type Reconciler[T store.Object] interface {
	// Reconcile receives its own copy of the primary. found is false if a live read of the store has confirmed that the
	// primary was deleted. An error is retried with backoff. A conflict of the store or of Kubernetes is also retried with
	// backoff, and is not logged. An error wrapped by reconcile.TerminalError is not retried.
	Reconcile(ctx context.Context, key string, obj T, found bool) (reconcile.Result, error)
}

// A ReconcilerFunc is a function that implements Reconciler.
type ReconcilerFunc[T store.Object] func(ctx context.Context, key string, obj T, found bool) (reconcile.Result, error)

// Reconcile calls the function.
func (f ReconcilerFunc[T]) Reconcile(ctx context.Context, key string, obj T, found bool) (reconcile.Result, error) {
	return f(ctx, key, obj, found)
}

// Defaults of Options and GarbagePolicy.
const (
	DefaultResync            = 10 * time.Minute
	DefaultMaxGarbagePerPass = 50
	DefaultEventNamespace    = "default"
)

// StateTimeout limits how long Owner waits for the state of a store whose informer has not synced yet.
const StateTimeout = 5 * time.Second

// Options configure a controller. The zero value is usable.
type Options struct {
	// TypedOptions are the options of controller-runtime. Reconciler is ignored. The default of NewQueue is the
	// starvation-free queue of package controller. Logger receives the errors of failed reconciles. Its default is the
	// logger of the manager, or the log of controller-runtime without a manager.
	controller.TypedOptions[Request]

	// Resync is the interval at which all primaries are reconciled again and garbage is collected. It varies randomly by
	// up to a tenth. The default is DefaultResync. A negative value disables both.
	Resync time.Duration

	// Garbage limits the garbage collector.
	Garbage GarbagePolicy

	// Marks are the labels and annotations that name the owner of objects in Kubernetes. The zero value uses the domain
	// moorage.dev and also reads the former names. Marks{Prefix: FormerMarkPrefix} uses only the former names.
	Marks Marks

	// AllEvents reconciles a primary after every write. By default, writes that change only the status are
	// ignored.
	AllEvents bool

	// Recorder records events about primaries. The default is a recorder of the manager, named after the
	// controller; without a manager events are dropped.
	Recorder event.Recorder

	// EventNamespace is the namespace of the events. The default is DefaultEventNamespace.
	EventNamespace string

	// Logger receives the messages of the controller, and of informers without a logger of their own. The default
	// is the Logger of TypedOptions.
	Logger logging.Logger

	// Clock is the clock of the resyncs. The default is the real clock.
	Clock clock.WithTicker
}

// A GarbagePolicy limits the deletion of secondaries whose primary was deleted. The zero value allows only the
// deletion of objects whose marks name the epoch of the store.
type GarbagePolicy struct {
	// Disabled turns the garbage collector off.
	Disabled bool

	// MaxPerPass is the maximum number of objects that one run of the garbage collector deletes. The default is
	// DefaultMaxGarbagePerPass.
	MaxPerPass int

	// Unmarked also allows the garbage collector and DeleteWithPrimary to delete objects whose marks have no epoch, such
	// as objects that another program marked. The default is false. Leave it false if a store can be lost: after such a
	// store is created again, all of these objects count as garbage.
	Unmarked bool
}

// withDefaults returns the options with the defaults of a manager, which may be nil.
func (o Options) withDefaults(mgr manager.Manager, name string) Options {
	if mgr != nil {
		o.DefaultFromConfig(mgr.GetControllerOptions())
	}
	if o.TypedOptions.Logger.GetSink() == nil && mgr != nil {
		o.TypedOptions.Logger = mgr.GetLogger()
	}
	if o.TypedOptions.Logger.GetSink() == nil { // the only logger that receives the errors of failed passes
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
