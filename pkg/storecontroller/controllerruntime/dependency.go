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

// A Dependency is something that a runtime watches beside its primaries.
type Dependency struct {
	listeners []func(b binding) (listener, error)
	externals []IExternalClient
}

// A binding is what a listener learns of its runtime.
type binding struct {
	kind   string // of the primaries
	logger logging.Logger
}

// A listener starts to tell of objects, and waits until it has told of all there are.
type listener struct {
	tertiary bool
	runnable manager.Runnable // may be nil
	listen   func(tell func(obj any)) (func(), error)
	synced   func(ctx context.Context) error
	// ofOwner returns the owners that stand on what was made for a primary.
	ofOwner func(ctx context.Context, key string) ([]store.Owner, error)
}

// Secondaries are entities that the controller makes: HandleSecondary is called
// with each that changes. A nil client is none.
func Secondaries[T IEntity](c IEntityClient[T]) Dependency { return entities(c, false) }

// Terciaries are entities that the controller reads. A nil client is none.
func Terciaries[T IEntity](c IEntityClient[T]) Dependency { return entities(c, true) }

func entities[T IEntity](c IEntityClient[T], tertiary bool) Dependency {
	if absent(c) {
		return Dependency{}
	}

	return Dependency{listeners: []func(binding) (listener, error){func(b binding) (listener, error) {
		i := store.NewInformer[T](c, store.InformerOptions{Logger: b.logger})

		return listener{
			tertiary: tertiary, runnable: i, synced: i.WaitForSync, ofOwner: ownersOfEntities(i, b.kind),
			listen: func(tell func(any)) (func(), error) {
				return i.AddHandler(func(n store.Notification[T]) {
					obj := n.New
					if n.Op != store.Put {
						obj = n.Old
					}
					if !store.Absent(obj) { // it may never have been decoded
						tell(obj)
					}
				}), nil
			},
		}, nil
	}}}
}

// absent tells whether a client is nil, or a nil pointer.
func absent(c any) bool {
	if c == nil {
		return true
	}
	v := reflect.ValueOf(c)

	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Informers watch objects of Kubernetes that the controller makes: HandleSecondary
// is called with each that is added, changed or deleted.
func Informers(i ...cache.SharedIndexInformer) Dependency { return shared(false, i) }

// TerciaryInformers watch objects of Kubernetes that the controller reads.
func TerciaryInformers(i ...cache.SharedIndexInformer) Dependency { return shared(true, i) }

func shared(tertiary bool, informers []cache.SharedIndexInformer) (out Dependency) {
	for _, i := range informers {
		out.listeners = append(out.listeners, func(b binding) (listener, error) {
			ofOwner, err := ownersOfObjects(i, b.kind)
			l := fromInformer(i)
			l.tertiary, l.ofOwner = tertiary, ofOwner

			return l, err
		})
	}

	return out
}

func fromInformer(i cache.SharedIndexInformer) listener {
	var registration cache.ResourceEventHandlerRegistration

	return listener{
		listen: func(tell func(any)) (stop func(), err error) {
			registration, err = i.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: tell,
				UpdateFunc: func(old, now any) {
					if storecontroller.Changed(old, now) {
						tell(now)
					}
				},
				DeleteFunc: tell,
			})
			if err != nil {
				return nil, errors.Wrap(err, "cannot listen to an informer")
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

// Externals are systems outside.
func Externals(c ...IExternalClient) Dependency { return Dependency{externals: c} }

// A source makes a listener one of a controller's.
type source struct {
	listener
	tell func(obj any)
	once sync.Once
	done chan struct{} // closed when everything there is has been told of
}

// Start begins to listen. It does not block.
func (s *source) Start(ctx context.Context, _ workqueue.TypedRateLimitingInterface[storecontroller.Request]) error {
	line := newLine(s.tell)
	stop, err := s.listen(line.add)
	if err != nil {
		return err
	}
	go func() {
		defer stop()
		line.run(ctx)
	}()

	return nil
}

// WaitForSync waits until everything there is has been told of.
func (s *source) WaitForSync(ctx context.Context) error {
	if err := s.synced(ctx); err != nil {
		return err
	}
	s.once.Do(func() { close(s.done) })

	return nil
}
