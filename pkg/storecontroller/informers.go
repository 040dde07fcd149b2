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

// OwnsInformer watches objects in Kubernetes that have the marks of the controller's primaries (see Marks), through an
// informer of client-go. The caller runs the informer; several controllers may share it. If there is a manager, its
// client deletes garbage.
func OwnsInformer(i toolscache.SharedIndexInformer) Dependency { return ownsInformer{i} }

type ownsInformer struct {
	informer toolscache.SharedIndexInformer
}

func (d ownsInformer) bind(_ context.Context, b binding) (bound, error) {
	// The name determines the content of the index, so controllers that share an informer can share an index.
	o := informerLister{informer: d.informer, b: b, index: b.marks.KindKey() + " " + b.kind}
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

// An informerLister lists secondaries from an informer.
type informerLister struct {
	informer toolscache.SharedIndexInformer
	b        binding
	index    string
}

func (o informerLister) keys(obj metav1.Object) []string {
	owner, err := o.b.marks.Owner(obj)
	if err != nil {
		return nil
	}

	return o.b.primaryKeys(owner)
}

func (o informerLister) listByOwner(_ context.Context, key string) ([]secondary, error) {
	found, err := o.informer.GetIndexer().ByIndex(o.index, key)

	return o.secondaries(found), errors.Wrap(err, "cannot list from an informer")
}

func (o informerLister) listAll(context.Context) ([]secondary, error) {
	if !o.informer.HasSynced() {
		return nil, errors.New("an informer has not synced yet")
	}

	return o.secondaries(o.informer.GetIndexer().List()), nil
}

func (o informerLister) secondaries(found []any) (out []secondary) {
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

// Object returns the object that an event handler of client-go received: the object itself, or its last known state
// if the deletion was missed.
func Object(obj any) (metav1.Object, error) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	object, ok := obj.(metav1.Object)
	if !ok {
		return nil, errors.Errorf("%T is not a Kubernetes object", obj)
	}

	return object, nil
}

// An informerSource enqueues the primaries of the objects in an informer.
type informerSource struct {
	informer     toolscache.SharedIndexInformer
	keys         func(metav1.Object) []string
	registration toolscache.ResourceEventHandlerRegistration
}

// Start adds an event handler that is removed when the context ends. It does not block.
func (s *informerSource) Start(ctx context.Context, q queue) error {
	enqueueOwners := func(priority int, objs ...any) {
		for _, obj := range objs {
			if object, err := Object(obj); err == nil {
				enqueue(q, priority, 0, s.keys(object)...)
			}
		}
	}
	registration, err := s.informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if initial {
				enqueueOwners(controller.PriorityPoll, obj)
			} else {
				enqueueOwners(controller.PriorityUser, obj)
			}
		},
		UpdateFunc: func(old, now any) {
			if Changed(old, now) {
				enqueueOwners(controller.PriorityUser, old, now)
			}
		},
		DeleteFunc: func(obj any) { enqueueOwners(controller.PriorityUser, obj) },
	})
	if err != nil {
		return errors.Wrap(err, "cannot add an event handler to an informer")
	}
	s.registration = registration
	context.AfterFunc(ctx, func() { _ = s.informer.RemoveEventHandler(registration) })

	return nil
}

// WaitForSync waits until the primaries of all existing objects are enqueued.
func (s *informerSource) WaitForSync(ctx context.Context) error {
	if !toolscache.WaitForCacheSync(ctx.Done(), s.registration.HasSynced) {
		return errors.Wrap(ctx.Err(), "cannot wait for an informer")
	}

	return nil
}

// Changed returns whether an update changed the object. An informer repeats updates without a change at a resync.
// Objects without a resourceVersion, such as those of client-go's fake clientset, are compared with DeepEqual.
func Changed(old, now any) bool {
	a, errA := Object(old)
	b, errB := Object(now)

	if errA != nil || errB != nil || a.GetResourceVersion() != b.GetResourceVersion() {
		return true
	}

	return a.GetResourceVersion() == "" && !equality.Semantic.DeepEqual(a, b)
}
