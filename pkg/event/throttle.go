package event

import (
	"container/list"
	"hash/maphash"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// DefaultMaxSilence is how long a repeated event is dropped by default, see WithMaxSilence.
const DefaultMaxSilence = 5 * time.Minute

// maxRemembered bounds the memory of a ThrottledRecorder, in events of some 200 bytes each.
// Beyond it the oldest is forgotten, and may be repeated.
const maxRemembered = 1 << 17

// ThrottledRecorder sends events to another recorder, and drops repeated events for a while, see WithMaxSilence. A
// repeated event has the same object, type, reason, action, related object and message as an earlier event.
// Annotations are not compared. After the silence the event is sent once more, to show that it still applies. An
// event with another message is sent at once, and an immediate event always.
//
// An object is identified by its UID, so a recreated object is a new object. An object without UID is identified by
// its kind, namespace and name. Events about a value that is neither an object nor a reference are never dropped.
//
// The state of an object is removed after the silence, or at once by Forget. A ThrottledRecorder has no goroutine to
// stop. It must be created by NewThrottledRecorder, and may be used concurrently.
type ThrottledRecorder struct {
	recorder Recorder
	seen     *seenEvents
}

// ThrottleOption configures a ThrottledRecorder.
type ThrottleOption func(*ThrottledRecorder)

// WithMaxSilence sets how long a repeated event is dropped. The default is DefaultMaxSilence. If the duration is zero
// or less, no event is dropped.
func WithMaxSilence(d time.Duration) ThrottleOption {
	return func(r *ThrottledRecorder) { r.seen.silence = d }
}

// WithClock sets the clock. The default is the real clock.
func WithClock(c clock.PassiveClock) ThrottleOption {
	return func(r *ThrottledRecorder) { r.seen.clock = c }
}

// NewThrottledRecorder returns a recorder that sends events to r unless they are repeated.
func NewThrottledRecorder(r Recorder, o ...ThrottleOption) *ThrottledRecorder {
	t := &ThrottledRecorder{recorder: r, seen: newSeenEvents()}
	for _, option := range o {
		option(t)
	}

	return t
}

// Event sends the event unless it is repeated.
func (r *ThrottledRecorder) Event(obj runtime.Object, e Event) {
	if isNil(obj) || !e.Immediate && r.seen.isRepeat(obj, e) {
		return
	}

	r.recorder.Event(obj, e)
}

// WithAnnotations returns a recorder that adds the alternating keys and values to the annotations of each event. The
// returned recorder shares its state with the original. So an event that one of the two has sent is a repeated event
// for the other.
func (r *ThrottledRecorder) WithAnnotations(keysAndValues ...string) Recorder {
	return &ThrottledRecorder{recorder: r.recorder.WithAnnotations(keysAndValues...), seen: r.seen}
}

// Forget removes the state of the object, for instance when the object is gone. Nil is ignored.
func (r *ThrottledRecorder) Forget(obj runtime.Object) {
	if !isNil(obj) {
		r.seen.forget(obj)
	}
}

// seenEvents has the events of the last while by age. It consists of hashes: a collision of
// 64 bits would at worst drop an event.
type seenEvents struct {
	silence time.Duration
	clock   clock.PassiveClock
	seed    maphash.Seed

	mu       sync.Mutex
	byObject map[uint64]*seenEvent // the first event of each object
	order    *list.List            // of all events, the oldest first
}

// seenEvent is the last event about one topic of an object.
type seenEvent struct {
	object, topic, message uint64
	at                     time.Time
	next                   *seenEvent    // of the same object
	element                *list.Element // in the order
}

// topic identifies the events of an object of which only the last one is compared.
type topic struct {
	kind    Type
	reason  Reason
	action  string
	related identity
}

// identity identifies an object: by its UID if it has one, otherwise by the other fields.
type identity struct {
	uid    types.UID
	goType reflect.Type
	kind   schema.GroupVersionKind
	name   types.NamespacedName
}

func newSeenEvents() *seenEvents {
	return &seenEvents{
		silence:  DefaultMaxSilence,
		clock:    clock.RealClock{},
		seed:     maphash.MakeSeed(),
		byObject: map[uint64]*seenEvent{},
		order:    list.New(),
	}
}

// isRepeat reports whether the event was seen already, and otherwise stores it.
func (m *seenEvents) isRepeat(obj runtime.Object, e Event) bool {
	id, known := identify(obj)
	if !known {
		return false
	}

	related, _ := identify(e.Related)
	s := &seenEvent{
		object:  maphash.Comparable(m.seed, id),
		topic:   maphash.Comparable(m.seed, topic{kind: e.Type, reason: e.Reason, action: e.Action, related: related}),
		message: maphash.String(m.seed, truncate(e.Message)),
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	s.at = m.clock.Now()
	m.prune(s.at)

	if before := m.find(s); before != nil {
		if before.message == s.message {
			return true
		}

		m.drop(before)
	}

	m.add(s)

	return false
}

func (m *seenEvents) forget(obj runtime.Object) {
	id, _ := identify(obj)

	m.mu.Lock()
	defer m.mu.Unlock()

	object := maphash.Comparable(m.seed, id)
	for s := m.byObject[object]; s != nil; s = s.next {
		m.order.Remove(s.element)
	}
	delete(m.byObject, object)
}

// prune removes events older than the silence, and the oldest if there are too many.
func (m *seenEvents) prune(now time.Time) {
	for e := m.order.Front(); e != nil; e = m.order.Front() {
		s := e.Value.(*seenEvent) // The list holds nothing else.
		if m.order.Len() < maxRemembered && now.Sub(s.at) < m.silence {
			return
		}

		m.drop(s)
	}
}

// find returns the last event of the topic of s, or nil.
func (m *seenEvents) find(s *seenEvent) *seenEvent {
	before := m.byObject[s.object]
	for before != nil && before.topic != s.topic {
		before = before.next
	}

	return before
}

func (m *seenEvents) add(s *seenEvent) {
	s.next = m.byObject[s.object]
	m.byObject[s.object] = s
	s.element = m.order.PushBack(s)
}

func (m *seenEvents) drop(s *seenEvent) {
	m.order.Remove(s.element)

	if first := m.byObject[s.object]; first != s {
		for first.next != s {
			first = first.next
		}
		first.next = s.next
	} else if s.next != nil {
		m.byObject[s.object] = s.next
	} else {
		delete(m.byObject, s.object)
	}
}

// identify returns the identity of the object, and whether it has one.
func identify(obj runtime.Object) (identity, bool) {
	if isNil(obj) {
		return identity{}, false
	}

	if r, ok := obj.(*corev1.ObjectReference); ok {
		return identity{uid: r.UID}.or(obj, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}), true
	}

	o, err := meta.Accessor(obj)
	if err != nil {
		return identity{}, false
	}

	return identity{uid: o.GetUID()}.or(obj, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}), true
}

// or returns an identity by kind and name if i has no UID. Typed objects rarely have their
// kind set, and untyped ones share a Go type: both are needed.
func (i identity) or(obj runtime.Object, name types.NamespacedName) identity {
	if i.uid != "" {
		return i
	}

	return identity{goType: reflect.TypeOf(obj), kind: obj.GetObjectKind().GroupVersionKind(), name: name}
}
