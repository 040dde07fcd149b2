package controllerruntime

import (
	"context"
	"reflect"
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// A Dependency is something that a runtime watches in addition to its primaries.
type Dependency struct {
	listeners []func(b binding) (listener, error)
	externals []IExternalClient
}

// A binding holds what a listener needs of its runtime.
type binding struct {
	kind   string // of the primaries
	logger logging.Logger
}

// A listener calls a function with each changed object, and can wait until it has done so for all existing objects.
type listener struct {
	tertiary bool
	runnable manager.Runnable // may be nil
	listen   func(notify func(obj any)) (func(), error)
	synced   func(ctx context.Context) error
	ownersOf ownersFunc
}

// Secondaries are entities that the controller creates. The runtime calls HandleSecondary with each changed entity. A
// nil client is ignored.
func Secondaries[T IEntity](c IEntityClient[T]) Dependency { return entities(c, false) }

// Terciaries are entities that the controller reads. A nil client is ignored.
func Terciaries[T IEntity](c IEntityClient[T]) Dependency { return entities(c, true) }

func entities[T IEntity](c IEntityClient[T], tertiary bool) Dependency {
	if isNil(c) {
		return Dependency{}
	}

	return Dependency{listeners: []func(binding) (listener, error){func(b binding) (listener, error) {
		i := store.NewInformer[T](c, store.InformerOptions{Logger: b.logger})

		return listener{
			tertiary: tertiary, runnable: i, synced: i.WaitForSync, ownersOf: ownersOfEntities(i, b.kind),
			listen: func(notify func(any)) (func(), error) {
				return i.AddHandler(func(n store.Notification[T]) {
					obj := n.New
					if n.Op != store.Put {
						obj = n.Old
					}
					if !store.Absent(obj) { // a deleted entry may never have been decoded
						notify(obj)
					}
				}), nil
			},
		}, nil
	}}}
}

// isNil returns whether a client is nil or a nil pointer.
func isNil(c any) bool {
	if c == nil {
		return true
	}
	v := reflect.ValueOf(c)

	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Informers watch objects in Kubernetes that the controller creates. The runtime calls HandleSecondary with each object
// that is added, changed or deleted. The caller runs the informers.
func Informers(i ...cache.SharedIndexInformer) Dependency { return shared(false, i) }

// TerciaryInformers watch objects in Kubernetes that the controller reads. The caller runs the informers.
func TerciaryInformers(i ...cache.SharedIndexInformer) Dependency { return shared(true, i) }

func shared(tertiary bool, informers []cache.SharedIndexInformer) (out Dependency) {
	for _, i := range informers {
		out.listeners = append(out.listeners, func(b binding) (listener, error) {
			ownersOf, err := ownersOfObjects(i, b.kind)
			l := fromInformer(i)
			l.tertiary, l.ownersOf = tertiary, ownersOf

			return l, err
		})
	}

	return out
}

func fromInformer(i cache.SharedIndexInformer) listener {
	var registration cache.ResourceEventHandlerRegistration

	return listener{
		listen: func(notify func(any)) (stop func(), err error) {
			registration, err = i.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: notify,
				UpdateFunc: func(old, now any) {
					if storecontroller.Changed(old, now) {
						notify(now)
					}
				},
				DeleteFunc: notify,
			})
			if err != nil {
				return nil, errors.Wrap(err, "cannot add an event handler to an informer")
			}

			return func() { _ = i.RemoveEventHandler(registration) }, nil
		},
		synced: func(ctx context.Context) error {
			if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
				return errors.Wrap(context.Cause(ctx), "an informer did not sync")
			}

			return nil
		},
	}
}

// Externals are clients of external systems.
func Externals(c ...IExternalClient) Dependency { return Dependency{externals: c} }

// A listenerSource is a listener as a source of the controller.
type listenerSource struct {
	listener
	notify func(obj any)
	once   sync.Once
	done   chan struct{} // closed after the first sync
}

// Start starts the listener. It does not block.
func (s *listenerSource) Start(
	ctx context.Context, _ workqueue.TypedRateLimitingInterface[storecontroller.Request],
) error {
	n := newNotifier(s.notify)
	stop, err := s.listen(n.add)
	if err != nil {
		return err
	}
	go func() {
		defer stop()
		n.run(ctx)
	}()

	return nil
}

// WaitForSync waits until the listener has received all existing objects.
func (s *listenerSource) WaitForSync(ctx context.Context) error {
	if err := s.synced(ctx); err != nil {
		return err
	}
	s.once.Do(func() { close(s.done) })

	return nil
}
