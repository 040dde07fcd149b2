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

// A Runtime is a ControllerRuntime with any number of dependencies. Use NewRuntime.
// Its methods may be called concurrently; Run once.
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
	events eventer

	mu         sync.Mutex
	custom     IController
	tertiary   func(obj any) []string
	hints      map[string]Operation
	panics     int
	controller *storecontroller.Controller[T] // nil before Run
}

// NewRuntime returns a runtime. The kind is that of the primaries, as it stands in
// the marks of their secondaries. Without a client of Kubernetes no events are
// recorded. A resync interval of 0 is none.
func NewRuntime[T IEntity](name, kind string, kube kubernetes.Interface, primary IEntityClient[T], resync time.Duration, deps ...Dependency) *Runtime[T] {
	return &Runtime[T]{
		name: name, kind: kind, kube: kube, client: primary, resync: resync, deps: deps,
		clock: clock.RealClock{}, jitter: rand.Float64, logger: logging.NewLogrLogger(log.Log.WithName(name)), hints: map[string]Operation{},
	}
}

// SetCustomController says what to run. It is called before Run.
func (r *Runtime[T]) SetCustomController(customController IController) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.custom = customController
}

// SetTerciaryMapping says which primaries are looked at when a tertiary changes. It
// is called before Run. The default is none.
func (r *Runtime[T]) SetTerciaryMapping(keys func(obj any) []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tertiary = keys
}

// SetLogger says who is told of panics, of failures, of entries that cannot be decoded
// and of primaries that were lost. It is called before Run. The default is
// controller-runtime's log.
func (r *Runtime[T]) SetLogger(l logging.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logger = l
}

// EnqueueKey asks for a pass over a primary. A key that no store takes is dropped.
func (r *Runtime[T]) EnqueueKey(key string, operation Operation) {
	r.EnqueueKeyAfter(key, operation, 0)
}

// EnqueueKeyAfter asks for a pass over a primary when the time has passed.
func (r *Runtime[T]) EnqueueKeyAfter(key string, operation Operation, delay time.Duration) {
	if !store.ValidKey(key) {
		return
	}
	r.hint(key, operation)
	r.pusher.PushAfter(delay, key)
}

func (r *Runtime[T]) hint(key string, operation Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hints[key] = operation
}

// takeHint returns why a primary is looked at.
func (r *Runtime[T]) takeHint(key string) Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer delete(r.hints, key)

	return r.hints[key]
}

// DecomposeKubeSecondaryResource returns the object that an event handler was given
// and the key of its owner. See that of ControllerRuntime.
func (r *Runtime[T]) DecomposeKubeSecondaryResource(obj any) (secondaryResource metav1.Object, primaryKey string, err error) {
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

// Event records an event about an object: one of Kubernetes, or what Reference
// returns for a primary.
func (r *Runtime[T]) Event(object runtime.Object, eventtype string, reason string, message string) {
	if rec := r.recorder(); rec != nil {
		rec.Event(object, event.Event{Type: event.Type(eventtype), Reason: event.Reason(reason), Message: message})
	}
}

// Reference returns what stands for a primary in Event: its events are in the
// namespace storecontroller.DefaultEventNamespace.
func (r *Runtime[T]) Reference(key string) runtime.Object {
	return event.Ref(r.kind, storecontroller.DefaultEventNamespace, key, "")
}

// Panics returns how many there were in the author's code. They are recovered from.
func (r *Runtime[T]) Panics() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.panics
}

// guard runs the author's code, and makes an error of its panic.
func (r *Runtime[T]) guard(what string, run func() error) (err error) {
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

// tellSecondary and tellTertiary hand an object to the author.
func (r *Runtime[T]) tellSecondary(obj any) {
	_ = r.guard("HandleSecondary", func() error {
		r.custom.HandleSecondary(obj)

		return nil
	})
}

func (r *Runtime[T]) tellTertiary(obj any) {
	if r.tertiary == nil {
		return
	}
	_ = r.guard("the mapping of tertiaries", func() error {
		for _, key := range r.tertiary(obj) {
			r.EnqueueKey(key, OperationSecondary)
		}

		return nil
	})
}

// garbage lets the author look for secondaries without an owner.
func (r *Runtime[T]) garbage() {
	_ = r.guard("GarbageSecondaries", func() error {
		r.custom.GarbageSecondaries()

		return nil
	})
}

// report sends an error, unless the runtime is to stop: nobody may be listening.
func report(errCh chan<- error, stop context.Context, err error) {
	select {
	case errCh <- err:
	case <-stop.Done():
	}
}
