package controllerruntime

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// A Runtime is a ControllerRuntime with any number of dependencies. Use NewRuntime; the zero value is not usable. Its
// methods may be called concurrently. Run may be called only once.
type Runtime[T IEntity] struct {
	name   string
	kind   string
	kube   kubernetes.Interface
	client IEntityClient[T]
	resync time.Duration
	deps   []Dependency
	pusher storecontroller.Pusher
	clock  clock.WithTicker
	jitter func() float64 // in [0, 1)
	logger logging.Logger
	events eventBroadcaster

	mu         sync.Mutex
	custom     IController
	tertiary   func(obj any) []string
	hints      map[string]Operation
	panics     int
	controller *storecontroller.Controller[T] // nil before Run
}

// NewRuntime returns a runtime. kind is the kind of the primaries in the marks that name the owner of a secondary.
// Without a client of Kubernetes no events are recorded. A resync interval of 0 disables the resync.
func NewRuntime[T IEntity](name, kind string, kube kubernetes.Interface, primary IEntityClient[T], resync time.Duration,
	deps ...Dependency) *Runtime[T] {
	return &Runtime[T]{
		name: name, kind: kind, kube: kube, client: primary, resync: resync, deps: deps,
		clock: clock.RealClock{}, jitter: rand.Float64, logger: logging.NewLogrLogger(log.Log.WithName(name)),
		hints: map[string]Operation{},
	}
}

// SetCustomController sets the controller to run. Call it before Run.
func (r *Runtime[T]) SetCustomController(customController IController) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.custom = customController
}

// SetTerciaryMapping sets the function that maps a changed tertiary object to the keys of the primaries to enqueue. The
// method is spelled as in existing controllers. Call it before Run. Without a function, a tertiary object enqueues no
// primary.
func (r *Runtime[T]) SetTerciaryMapping(keys func(obj any) []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tertiary = keys
}

// SetLogger sets the logger for panics, errors of SyncHandler, entries that cannot be decoded and lost primaries. Call
// it before Run. The default is the log of controller-runtime.
func (r *Runtime[T]) SetLogger(l logging.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logger = l
}

// EnqueueKey enqueues a primary. Invalid keys are ignored.
func (r *Runtime[T]) EnqueueKey(key string, operation Operation) {
	r.EnqueueKeyAfter(key, operation, 0)
}

// EnqueueKeyAfter enqueues a primary after the delay. Invalid keys are ignored.
func (r *Runtime[T]) EnqueueKeyAfter(key string, operation Operation, delay time.Duration) {
	if !store.ValidKey(key) {
		return
	}
	r.hint(key, operation)
	r.pusher.PushAfter(delay, key)
}

// hint records the last operation on a key.
func (r *Runtime[T]) hint(key string, operation Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hints[key] = operation
}

// takeHint returns and removes the last operation on a key.
func (r *Runtime[T]) takeHint(key string) Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer delete(r.hints, key)

	return r.hints[key]
}

// DecomposeKubeSecondaryResource returns the object that an event handler received, and the key of its owner. See
// ControllerRuntime.DecomposeKubeSecondaryResource.
func (r *Runtime[T]) DecomposeKubeSecondaryResource(
	obj any,
) (secondaryResource metav1.Object, primaryKey string, err error) {
	object, err := storecontroller.Object(obj)
	if err != nil {
		return nil, "", err
	}
	owner, err := marks().Owner(object)
	if owner.Kind != r.kind {
		return object, "", nil
	}

	return object, owner.Key, err
}

// Event records an event about an object in Kubernetes or about a primary. For a primary, pass the object that
// Reference returns.
func (r *Runtime[T]) Event(object runtime.Object, eventtype string, reason string, message string) {
	if rec := r.recorder(); rec != nil {
		rec.Event(object, event.Event{Type: event.Type(eventtype), Reason: event.Reason(reason), Message: message})
	}
}

// Reference returns the object to pass to Event for a primary. The events are in the namespace
// storecontroller.DefaultEventNamespace.
func (r *Runtime[T]) Reference(key string) runtime.Object {
	return event.Ref(r.kind, storecontroller.DefaultEventNamespace, key, "")
}

// Panics returns the number of panics in the author's code that the runtime has recovered.
func (r *Runtime[T]) Panics() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.panics
}

// recoverPanic runs the author's code, and returns its panic as an error.
func (r *Runtime[T]) recoverPanic(what string, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.mu.Lock()
			r.panics++
			logger := r.logger
			r.mu.Unlock()
			err = errors.Errorf("%s panicked: %v", what, p)
			logger.Info("Recovered from a panic", "controller", r.name, "in", what, "panic", p)
		}
	}()

	return run()
}

// handleSecondary calls HandleSecondary with an object.
func (r *Runtime[T]) handleSecondary(obj any) {
	_ = r.recoverPanic("HandleSecondary", func() error {
		r.custom.HandleSecondary(obj)

		return nil
	})
}

// handleTertiary enqueues the primaries of a tertiary.
func (r *Runtime[T]) handleTertiary(obj any) {
	if r.tertiary == nil {
		return
	}
	_ = r.recoverPanic("tertiary mapping", func() error {
		for _, key := range r.tertiary(obj) {
			r.EnqueueKey(key, OperationSecondary)
		}

		return nil
	})
}

// collectGarbage calls GarbageSecondaries.
func (r *Runtime[T]) collectGarbage() {
	_ = r.recoverPanic("GarbageSecondaries", func() error {
		r.custom.GarbageSecondaries()

		return nil
	})
}

// sendError sends an error. It gives up when the runtime is stopped, because the receiver may have ended.
func sendError(errCh chan<- error, stop context.Context, err error) {
	select {
	case errCh <- err:
	case <-stop.Done():
	}
}
