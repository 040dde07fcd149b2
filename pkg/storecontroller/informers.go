package storecontroller

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// OwnsInformer watches objects in Kubernetes that are made for the primaries of the
// controller and marked with them, by an informer of client-go, which whoever made
// it runs. Several controllers may share it. What is found there is collected with the
// client of the manager, if there is one.
func OwnsInformer(i toolscache.SharedIndexInformer) Dependency { return ownsInformer{i} }

type ownsInformer struct {
	informer toolscache.SharedIndexInformer
}

func (d ownsInformer) bind(_ context.Context, b binding) (bound, error) {
	// What the index holds follows from its name: of controllers that share an informer,
	// those share the index for which it is the same.
	o := informerOwned{informer: d.informer, b: b, index: b.marks.KindKey() + " " + b.kind}
	if former, ok := b.marks.former(); ok {
		o.index += " or " + former.KindKey()
	}
	err := d.informer.AddIndexers(toolscache.Indexers{o.index: func(obj any) ([]string, error) {
		object, err := Object(obj)
		if err != nil {
			return nil, nil
		}

		return o.keys(object), nil
	}})
	if _, has := d.informer.GetIndexer().GetIndexers()[o.index]; err != nil && !has {
		return bound{}, errors.Wrap(err, "cannot index an informer by owners")
	}

	return bound{source: &informerSource{informer: d.informer, keys: o.keys}, owned: o}, nil
}

// informerOwned finds secondaries in an informer.
type informerOwned struct {
	informer toolscache.SharedIndexInformer
	b        binding
	index    string
}

func (o informerOwned) keys(obj metav1.Object) []string {
	owner, err := o.b.marks.Owner(obj)
	if err != nil {
		return nil
	}

	return o.b.mine(owner)
}

func (o informerOwned) ofOwner(_ context.Context, key string) ([]secondary, error) {
	found, err := o.informer.GetIndexer().ByIndex(o.index, key)

	return o.secondaries(found), errors.Wrap(err, "cannot ask an informer")
}

func (o informerOwned) all(context.Context) ([]secondary, error) {
	if !o.informer.HasSynced() {
		return nil, errors.New("an informer does not have all objects yet")
	}

	return o.secondaries(o.informer.GetIndexer().List()), nil
}

func (o informerOwned) secondaries(found []any) (out []secondary) {
	for _, item := range found {
		obj, ok := item.(client.Object)
		if !ok || len(o.keys(obj)) == 0 {
			continue
		}
		if owner, err := o.b.marks.Owner(obj); err == nil {
			out = append(out, kubeSecondary(o.b.kube, "object", owner, obj))
		}
	}

	return out
}

// Object returns what an event handler of client-go was given: an object, or the
// last that is known of one whose deletion was missed.
func Object(obj any) (metav1.Object, error) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	object, ok := obj.(metav1.Object)
	if !ok {
		return nil, errors.Errorf("%T is no object of Kubernetes", obj)
	}

	return object, nil
}

// An informerSource leads from the objects of an informer to primaries.
type informerSource struct {
	informer     toolscache.SharedIndexInformer
	keys         func(metav1.Object) []string
	registration toolscache.ResourceEventHandlerRegistration
}

// Start begins to listen. It does not block.
func (s *informerSource) Start(ctx context.Context, q queue) error {
	tell := func(priority int, objs ...any) {
		for _, obj := range objs {
			if object, err := Object(obj); err == nil {
				add(q, priority, 0, s.keys(object)...)
			}
		}
	}
	registration, err := s.informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if initial {
				tell(controller.PriorityPoll, obj)
			} else {
				tell(controller.PriorityUser, obj)
			}
		},
		UpdateFunc: func(old, now any) {
			if Changed(old, now) {
				tell(controller.PriorityUser, old, now)
			}
		},
		DeleteFunc: func(obj any) { tell(controller.PriorityUser, obj) },
	})
	if err != nil {
		return errors.Wrap(err, "cannot listen to an informer")
	}
	s.registration = registration
	context.AfterFunc(ctx, func() { _ = s.informer.RemoveEventHandler(registration) })

	return nil
}

// WaitForSync waits until what there was at the start is in the queue.
func (s *informerSource) WaitForSync(ctx context.Context) error {
	if !toolscache.WaitForCacheSync(ctx.Done(), s.registration.HasSynced) {
		return errors.Wrap(ctx.Err(), "cannot wait for an informer")
	}

	return nil
}

// Changed tells whether an update is one: it leaves out what an informer repeats from time to time. Objects
// without a resourceVersion, as the fake clientset of client-go has them, are compared whole.
func Changed(old, now any) bool {
	a, errA := Object(old)
	b, errB := Object(now)

	if errA != nil || errB != nil || a.GetResourceVersion() != b.GetResourceVersion() {
		return true
	}

	return a.GetResourceVersion() == "" && !equality.Semantic.DeepEqual(a, b)
}
