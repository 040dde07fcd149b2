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

// DefaultMaxSilence is how long a ThrottledRecorder keeps a repeated event back,
// unless WithMaxSilence says otherwise.
const DefaultMaxSilence = 5 * time.Minute

// maxRemembered bounds the memory of a ThrottledRecorder in a storm, in events of
// some 200 bytes each. Beyond it the oldest is forgotten, and may be repeated.
const maxRemembered = 1 << 17

// A ThrottledRecorder hands events on to another recorder unless they repeat what
// was just said: an event of the same object, type, reason, action and related
// object with an unchanged message is dropped for a while, see WithMaxSilence.
// Then it is handed on once, so that whoever looks sees that it still holds. Any
// other message is handed on at once. Annotations make no difference.
//
// An object is known by its UID, so a namesake that is created anew begins anew.
// An object without one is known by its kind, namespace and name, and what is
// neither object nor reference is never throttled.
//
// What is remembered of an object goes by itself once the silence has passed, or
// at once with Forget; there is no goroutine to stop. It may be used
// concurrently. The zero value is not usable.
type ThrottledRecorder struct {
	recorder Recorder
	said     *memory
}

// A ThrottleOption configures a ThrottledRecorder.
type ThrottleOption func(*ThrottledRecorder)

// WithMaxSilence sets how long a repeated event is kept back. The default is
// DefaultMaxSilence; with zero or less nothing is kept back.
func WithMaxSilence(d time.Duration) ThrottleOption {
	return func(r *ThrottledRecorder) { r.said.silence = d }
}

// WithClock sets the clock that silence is measured with. The default is the
// system's.
func WithClock(c clock.PassiveClock) ThrottleOption {
	return func(r *ThrottledRecorder) { r.said.clock = c }
}

// NewThrottledRecorder returns a recorder that hands events on to r unless they
// repeat.
func NewThrottledRecorder(r Recorder, o ...ThrottleOption) *ThrottledRecorder {
	t := &ThrottledRecorder{recorder: r, said: newMemory()}
	for _, option := range o {
		option(t)
	}

	return t
}

// Event hands the event on unless it repeats.
func (r *ThrottledRecorder) Event(obj runtime.Object, e Event) {
	if absent(obj) || r.said.repeats(obj, e) {
		return
	}

	r.recorder.Event(obj, e)
}

// WithAnnotations returns a recorder that adds the alternating keys and values to
// the annotations of each event. It remembers together with the original: what
// one of them said is a repetition for the other.
func (r *ThrottledRecorder) WithAnnotations(keysAndValues ...string) Recorder {
	return &ThrottledRecorder{recorder: r.recorder.WithAnnotations(keysAndValues...), said: r.said}
}

// Forget drops what is remembered of the object, for when it is gone or begins
// anew. Nil is ignored.
func (r *ThrottledRecorder) Forget(obj runtime.Object) {
	if !absent(obj) {
		r.said.forget(obj)
	}
}

// A memory holds what was said in the last while, in the order of when. It is
// made of hashes: two things that have the same one, of 64 bits, would at worst
// keep an event back.
type memory struct {
	silence time.Duration
	clock   clock.PassiveClock
	seed    maphash.Seed

	mu    sync.Mutex
	about map[uint64]*saying // by object: the first of its sayings
	order *list.List         // of all sayings, the oldest first
}

// A saying is what was said last about one topic of an object.
type saying struct {
	object, topic, message uint64
	at                     time.Time
	next                   *saying       // of the object
	place                  *list.Element // in the order
}

// A topic is what an event of an object is about; its message is what it says
// about that.
type topic struct {
	kind    Type
	reason  Reason
	action  string
	related identity
}

// An identity is what an object is known by: its UID, or else the rest.
type identity struct {
	uid  types.UID
	goes reflect.Type
	kind schema.GroupVersionKind
	name types.NamespacedName
}

func newMemory() *memory {
	return &memory{
		silence: DefaultMaxSilence,
		clock:   clock.RealClock{},
		seed:    maphash.MakeSeed(),
		about:   map[uint64]*saying{},
		order:   list.New(),
	}
}

// repeats tells whether the event was said already, and otherwise remembers it.
func (m *memory) repeats(obj runtime.Object, e Event) bool {
	id, known := identify(obj)
	if !known {
		return false
	}

	related, _ := identify(e.Related)
	s := &saying{
		object:  maphash.Comparable(m.seed, id),
		topic:   maphash.Comparable(m.seed, topic{kind: e.Type, reason: e.Reason, action: e.Action, related: related}),
		message: maphash.String(m.seed, bounded(e.Message)),
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

func (m *memory) forget(obj runtime.Object) {
	id, _ := identify(obj)

	m.mu.Lock()
	defer m.mu.Unlock()

	object := maphash.Comparable(m.seed, id)
	for s := m.about[object]; s != nil; s = s.next {
		m.order.Remove(s.place)
	}
	delete(m.about, object)
}

// prune drops what is too old to keep anything back, and then what is too much.
func (m *memory) prune(now time.Time) {
	for e := m.order.Front(); e != nil; e = m.order.Front() {
		s := e.Value.(*saying) // The list holds nothing else.
		if m.order.Len() < maxRemembered && now.Sub(s.at) < m.silence {
			return
		}

		m.drop(s)
	}
}

// find returns what was said before about the topic of s, or nil.
func (m *memory) find(s *saying) *saying {
	before := m.about[s.object]
	for before != nil && before.topic != s.topic {
		before = before.next
	}

	return before
}

func (m *memory) add(s *saying) {
	s.next = m.about[s.object]
	m.about[s.object] = s
	s.place = m.order.PushBack(s)
}

func (m *memory) drop(s *saying) {
	m.order.Remove(s.place)

	if first := m.about[s.object]; first != s {
		for first.next != s {
			first = first.next
		}
		first.next = s.next
	} else if s.next != nil {
		m.about[s.object] = s.next
	} else {
		delete(m.about, s.object)
	}
}

// identify returns what the object is known by, and whether it is known at all.
func identify(obj runtime.Object) (identity, bool) {
	if absent(obj) {
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

// or makes do without a UID. Typed objects rarely know their kind, untyped ones
// share a type: both are needed.
func (i identity) or(obj runtime.Object, name types.NamespacedName) identity {
	if i.uid != "" {
		return i
	}

	return identity{goes: reflect.TypeOf(obj), kind: obj.GetObjectKind().GroupVersionKind(), name: name}
}
