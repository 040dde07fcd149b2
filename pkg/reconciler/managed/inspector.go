package managed

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ErrNotRunning means that the controller of a kind does not run in this process now. So its objects and its queue are
// not known.
var ErrNotRunning = errors.New("the controller of the kind does not run in this process")

// An Inspector reads what the process knows about the objects of its kinds: the cache of the manager, the queues, and
// the last passes. It sends nothing to the API server and calls no external system. Make one with [NewInspector], and
// give it to each kind by [WithInspector]. It may be used concurrently. Package statuspage shows what it reads.
type Inspector struct {
	changes changelog.Sink

	mu    sync.Mutex
	kinds []*inspectedKind
}

// NewInspector returns an Inspector without kinds. The sink gets the entry of each change of an external resource, as
// the sink of [WithChangeLog] does, and in addition to that sink. It should return at once. Nil means no sink.
func NewInspector(changes changelog.Sink) *Inspector { return &Inspector{changes: changes} }

// WithInspector lets an Inspector read what the process knows about the objects of the kind, if [Setup] or [SetupGated]
// adds the controller. The reconciler then remembers for each object that is not well how the last pass decided: about
// 150 bytes. The default is no Inspector.
func WithInspector(i *Inspector) ReconcilerOption {
	return func(r *Reconciler) { r.inspected = &inspectedKind{inspector: i} }
}

// Kinds returns the kinds of the Inspector, sorted by kind and group.
func (i *Inspector) Kinds() []KindInspection {
	i.mu.Lock()
	defer i.mu.Unlock()
	kinds := make([]KindInspection, len(i.kinds))
	for n, k := range i.kinds {
		kinds[n] = KindInspection{k}
	}
	slices.SortFunc(kinds, func(a, b KindInspection) int {
		return cmp.Or(cmp.Compare(a.Kind().Kind, b.Kind().Kind), cmp.Compare(a.Kind().Group, b.Kind().Group))
	})

	return kinds
}

// add adds a kind, or replaces it: a gate makes a new reconciler whenever the CustomResourceDefinition returns.
func (i *Inspector) add(k *inspectedKind) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, other := range i.kinds {
		if other.reconciler.of == k.reconciler.of {
			i.kinds[n] = k

			return
		}
	}
	i.kinds = append(i.kinds, k)
}

// A KindInspection reads what the process knows about the objects of one kind. Get it from [Inspector.Kinds]. It may be
// used concurrently.
type KindInspection struct{ of *inspectedKind }

// A LastPass is how the last pass over an object decided.
type LastPass struct {
	// At is when the pass ended.
	At time.Time

	// Action is the last decision of the pass, as docs/lifecycle.md names it. Because is the reason for it, in one line.
	Action, Because string
}

// Kind returns the kind.
func (k KindInspection) Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind(k.of.reconciler.of)
}

// Objects returns all objects of the kind in the cache. They must not be changed. It waits for the cache until ctx
// ends. It returns [ErrNotRunning] if the controller does not run in this process now.
func (k KindInspection) Objects(ctx context.Context) ([]resource.Managed, error) {
	reader, queue := k.of.running()
	if reader == nil || queue == nil {
		return nil, ErrNotRunning
	}

	return k.of.reconciler.listFrom(ctx, reader)
}

// LastPass returns how the last pass over an object decided, if the object was not well after it: it was not Ready, not
// Synced, not UpToDate, or being deleted. It returns false for all other objects, and for an object without a pass
// since the process started.
func (k KindInspection) LastPass(mg resource.Managed) (LastPass, bool) {
	noted, ok := k.of.noted(client.ObjectKeyFromObject(mg))
	if !ok || noted.uid != mg.GetUID() {
		return LastPass{}, false
	}
	reason := whyFrom(noted.admitted, noted.facts)

	return LastPass{At: noted.at, Action: reason.Result, Because: reason.String()}, true
}

// NextReconcile returns from when on the object may be reconciled again without an event. The time may have passed, if
// the object waits for a worker. It returns false if the object is being reconciled, waits for an event, or is not
// known to the queue.
func (k KindInspection) NextReconcile(mg resource.Managed) (time.Time, bool) {
	_, queue := k.of.running()
	if queue == nil {
		return time.Time{}, false
	}

	return queue.DueAt(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)})
}

// Queue returns the classes of the queue by descending priority, and how many objects are being reconciled. It returns
// false if the controller does not run in this process now, or if its queue is not one of package controller.
func (k KindInspection) Queue() (classes []controller.QueueClass, reconciling int, ok bool) {
	_, queue := k.of.running()
	if queue == nil {
		return nil, 0, false
	}
	classes, reconciling = queue.Classes()

	return classes, reconciling, true
}

// An inspectedKind is what an Inspector knows of a kind. Its methods do nothing for nil.
type inspectedKind struct {
	inspector  *Inspector
	reconciler *Reconciler

	mu     sync.Mutex
	reader client.Reader // nil: the controller was not set up, or has ended
	queue  controller.QueueReader[reconcile.Request]
	passes map[types.NamespacedName]notedPass
}

// A notedPass has what the last decision of a pass was made from. It is explained on request.
type notedPass struct {
	uid      types.UID
	at       time.Time
	facts    lifecycle.Facts
	admitted lifecycle.AdmitFacts
}

// inspect hands the reconciler to its Inspector, if it has one. A reconciler that only plans is not inspected.
func (r *Reconciler) inspect() {
	if r.planner != nil {
		r.inspected = nil
	}
	if r.inspected == nil {
		return
	}
	r.inspected.reconciler = r
	r.inspected.inspector.add(r.inspected)
	switch sink := r.inspected.inspector.changes; {
	case sink == nil:
	case r.changes == nil:
		r.changes = sink
	default:
		r.changes = changelog.Multi(r.changes, sink)
	}
}

// watchQueue returns the options of a controller with a queue that the Inspector can read.
func (k *inspectedKind) watchQueue(o ctrlcontroller.Options) ctrlcontroller.Options {
	if k == nil {
		return o
	}
	newQueue := o.NewQueue
	o.NewQueue = func(name string, l workqueue.TypedRateLimiter[reconcile.Request],
	) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		queue := newQueue(name, l)
		reader, _ := queue.(controller.QueueReader[reconcile.Request])
		k.mu.Lock()
		defer k.mu.Unlock()
		k.queue = reader

		return queue
	}

	return o
}

// readFrom sets where the objects are read from. With nil the controller has ended.
func (k *inspectedKind) readFrom(reader client.Reader) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reader = reader; reader == nil {
		k.queue, k.passes = nil, nil
	}
}

func (k *inspectedKind) running() (client.Reader, controller.QueueReader[reconcile.Request]) {
	k.mu.Lock()
	defer k.mu.Unlock()

	return k.reader, k.queue
}

// note remembers how a pass decided if the object is not well after it, and forgets earlier passes otherwise.
func (k *inspectedKind) note(p *pass) {
	if k == nil {
		return
	}
	key := client.ObjectKeyFromObject(p.mg)
	if isWell(p.mg) {
		k.forget(key)

		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.passes == nil {
		k.passes = map[types.NamespacedName]notedPass{}
	}
	k.passes[key] = notedPass{p.mg.GetUID(), p.now(), p.lastFacts, p.lastAdmitted}
}

func (k *inspectedKind) noted(key types.NamespacedName) (notedPass, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	noted, ok := k.passes[key]

	return noted, ok
}

// forget forgets the passes over an object.
func (k *inspectedKind) forget(key types.NamespacedName) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.passes, key)
}

// isWell reports whether nothing is to be explained about an object.
func isWell(mg resource.Managed) bool {
	return isReady(mg) && mg.GetCondition(commonv1.TypeSynced).Status == metav1.ConditionTrue &&
		mg.GetCondition(commonv1.TypeUpToDate).Status != metav1.ConditionFalse && !meta.WasDeleted(mg)
}

// listFrom returns all objects of the kind that a cache has. They must not be changed.
func (r *Reconciler) listFrom(ctx context.Context, reader client.Reader) ([]resource.Managed, error) {
	list, err := r.newList()
	if err != nil {
		return nil, err
	}
	if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrapf(err, "cannot list objects of the kind %s", r.of.Kind)
	}
	var all []resource.Managed
	err = apimeta.EachListItem(list, func(o runtime.Object) error {
		mg, ok := o.(resource.Managed)
		if !ok {
			return errors.Errorf("the list of the kind %s has a %T", r.of.Kind, o)
		}
		all = append(all, mg)

		return nil
	})

	return all, err
}
