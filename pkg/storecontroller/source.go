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

// add puts keys into the queue. Those that no store has are dropped: nobody could
// ask for them.
func add(q queue, priority int, after time.Duration, keys ...string) {
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

// A storeSource leads from the objects of a store to primaries. The informer calls
// it under its lock; what that function and the queue do happens elsewhere.
type storeSource[T store.Object] struct {
	informer *store.Informer[T]
	keys     func(context.Context, T) []string // nil: the key of the object is that of a primary
	calm     bool                              // leave out what changes nothing but the status

	mu      sync.Mutex
	pending []store.Notification[T]
	taken   int // all that was ever pending
	wake    chan struct{}
	done    *sync.Cond
	handled int
}

func newStoreSource[T store.Object](i *store.Informer[T], calm bool, keys func(context.Context, T) []string) *storeSource[T] {
	s := &storeSource[T]{informer: i, keys: keys, calm: calm, wake: make(chan struct{}, 1)}
	s.done = sync.NewCond(&s.mu)

	return s
}

// Start begins to listen. It does not block.
func (s *storeSource[T]) Start(ctx context.Context, q queue) error {
	remove := s.informer.AddHandler(s.note)
	go func() {
		defer s.done.Broadcast()
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

// WaitForSync waits until what there was at the start is in the queue.
func (s *storeSource[T]) WaitForSync(ctx context.Context) error {
	if err := s.informer.WaitForSync(ctx); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, s.done.Broadcast)
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for all := s.taken; s.handled < all && ctx.Err() == nil; {
		s.done.Wait()
	}

	return ctx.Err()
}

func (s *storeSource[T]) note(n store.Notification[T]) {
	if s.calm && n.Op == store.Put && same(n.Old, n.New) {
		return
	}
	s.mu.Lock()
	s.pending = append(s.pending, n)
	s.taken++
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

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
		add(q, priority, 0, s.leadsTo(ctx, n)...)
	}
	s.mu.Lock()
	s.handled += len(all)
	s.mu.Unlock()
	s.done.Broadcast()
}

func (s *storeSource[T]) leadsTo(ctx context.Context, n store.Notification[T]) []string {
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

// same tells whether two states of an object differ in nothing but the status.
func same[T store.Object](old, now T) bool {
	if store.Absent(old) || store.Absent(now) {
		return false
	}
	a, b := old.GetMetadata(), now.GetMetadata()

	return a.UID == b.UID && a.Generation == b.Generation && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers)
}

// A Pusher is a source of keys that a program calls: a webhook, a poll, a
// subscription. Use it with External. What is pushed before the controller runs is
// kept until it does. The zero value is ready to use, by one controller. It may be
// used concurrently.
type Pusher struct {
	mu    sync.Mutex
	queue queue
	early []func(queue)
}

// Push asks for passes over primaries.
func (p *Pusher) Push(keys ...string) { p.PushAfter(0, keys...) }

// PushAfter asks for passes over primaries when the time has passed.
func (p *Pusher) PushAfter(d time.Duration, keys ...string) { p.push(controller.PriorityUser, d, keys) }

func (p *Pusher) push(priority int, d time.Duration, keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue == nil {
		p.early = append(p.early, func(q queue) { add(q, priority, d, keys...) })

		return
	}
	add(p.queue, priority, d, keys...)
}

// Start is called by the controller.
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
