package storecontroller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/store"
)

type queue = workqueue.TypedRateLimitingInterface[Request]

// enqueue adds keys to the queue, and ignores keys that no store accepts.
func enqueue(q queue, priority int, after time.Duration, keys ...string) {
	for _, key := range keys {
		if !store.ValidKey(key) {
			continue
		}
		if p, ok := q.(priorityqueue.PriorityQueue[Request]); ok {
			p.AddWithOpts(priorityqueue.AddOpts{Priority: &priority, After: after}, Request{Key: key})

			continue
		}
		q.AddAfter(Request{Key: key}, after)
	}
}

// A storeSource enqueues the primaries of the objects in a store. The informer holds its lock while it calls receive.
// Therefore another goroutine calls the mapping function and the queue.
type storeSource[T store.Object] struct {
	informer *store.Informer[T]
	keys     func(context.Context, T) []string // nil: the objects are the primaries

	skipStatusOnly bool // ignore updates that change only the status

	mu          sync.Mutex
	pending     []store.Notification[T]
	received    int // total number of notifications
	handled     int // of these, how many have been enqueued
	handledCond *sync.Cond
	wake        chan struct{}
}

func newStoreSource[T store.Object](i *store.Informer[T], skipStatusOnly bool,
	keys func(context.Context, T) []string) *storeSource[T] {
	s := &storeSource[T]{informer: i, keys: keys, skipStatusOnly: skipStatusOnly, wake: make(chan struct{}, 1)}
	s.handledCond = sync.NewCond(&s.mu)

	return s
}

// Start adds a handler to the informer. It does not block.
func (s *storeSource[T]) Start(ctx context.Context, q queue) error {
	remove := s.informer.AddHandler(s.receive)
	go func() {
		defer s.handledCond.Broadcast()
		defer remove()
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
				s.handle(ctx, q)
			}
		}
	}()

	return nil
}

// WaitForSync waits until the primaries of all existing objects are enqueued.
func (s *storeSource[T]) WaitForSync(ctx context.Context) error {
	if err := s.informer.WaitForSync(ctx); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, s.handledCond.Broadcast)
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for all := s.received; s.handled < all && ctx.Err() == nil; {
		s.handledCond.Wait()
	}

	return ctx.Err()
}

// receive appends a notification for handle.
func (s *storeSource[T]) receive(n store.Notification[T]) {
	if s.skipStatusOnly && n.Op == store.Put && equalExceptStatus(n.Old, n.New) {
		return
	}
	s.mu.Lock()
	s.pending = append(s.pending, n)
	s.received++
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// handle enqueues the primaries of all received notifications.
func (s *storeSource[T]) handle(ctx context.Context, q queue) {
	s.mu.Lock()
	all := s.pending
	s.pending = nil
	s.mu.Unlock()
	for _, n := range all {
		priority := controller.PriorityUser
		if n.Initial {
			priority = controller.PriorityPoll
		}
		enqueue(q, priority, 0, s.primaryKeys(ctx, n)...)
	}
	s.mu.Lock()
	s.handled += len(all)
	s.mu.Unlock()
	s.handledCond.Broadcast()
}

// primaryKeys returns the keys that the mapping function returns for the old and the new state of an object.
func (s *storeSource[T]) primaryKeys(ctx context.Context, n store.Notification[T]) []string {
	if s.keys == nil {
		return []string{n.Key}
	}
	var keys []string
	for _, obj := range []T{n.Old, n.New} {
		if !store.Absent(obj) {
			keys = append(keys, s.keys(ctx, obj)...)
		}
	}
	slices.Sort(keys)

	return slices.Compact(keys)
}

// equalExceptStatus returns whether two states of an object differ at most in the status.
func equalExceptStatus[T store.Object](old, now T) bool {
	if store.Absent(old) || store.Absent(now) {
		return false
	}
	a, b := old.GetMetadata(), now.GetMetadata()

	return a.UID == b.UID && a.Generation == b.Generation &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers)
}

// A Pusher is a source of keys for code that has no watch: a webhook, a poll, a subscription. Use it with External.
// Keys that are pushed before the controller starts are enqueued at its start. One controller can use a Pusher. The
// zero value is ready to use. Its methods may be called concurrently.
type Pusher struct {
	mu    sync.Mutex
	queue queue
	early []func(queue)
}

// Push enqueues primaries by their keys.
func (p *Pusher) Push(keys ...string) { p.PushAfter(0, keys...) }

// PushAfter enqueues primaries after the delay.
func (p *Pusher) PushAfter(d time.Duration, keys ...string) { p.push(controller.PriorityUser, d, keys) }

// push enqueues keys, or stores them until Start.
func (p *Pusher) push(priority int, d time.Duration, keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue == nil {
		p.early = append(p.early, func(q queue) { enqueue(q, priority, d, keys...) })

		return
	}
	enqueue(p.queue, priority, d, keys...)
}

// Start enqueues the stored keys. The controller calls it.
func (p *Pusher) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[Request]) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = q
	for _, push := range p.early {
		push(q)
	}
	p.early = nil

	return nil
}
