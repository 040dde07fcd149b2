package event

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/reference"
)

// The defaults of WithPace.
const (
	DefaultPace  = 50 // events in a second
	DefaultBurst = 100
)

// While events are recorded faster than the rate, the controllers are busy: each event then
// costs busyCost tokens, unless the queue is half full.
const (
	busyCost       = 5
	busyWindow     = time.Second // since the last event that exceeded the rate
	busyMaxWaiting = maxWaiting / 2
)

// maxWaiting bounds the queue of a PacedRecorder, in events of some 500 bytes each. Further
// events are sent at once.
const maxWaiting = 10_000

// PacedRecorder limits the rate of normal events that it sends to another recorder. Client-go sends each event as soon
// as it is recorded. When thousands of objects are created or deleted at a time, the API server would spend as much
// time on the events as on the work itself.
//
// Events beyond the rate are queued, and sent in order. While events are still recorded faster than the rate, queued
// events are sent at a fifth of the rate. They are sent at the full rate if the queue has 5,000 events or more.
//
// Warnings and immediate events are never queued, so they may be sent before earlier normal events of the same object.
// Events in the queue are lost when the process ends or the recorder is stopped. A queued event holds only a reference
// to its object. Its timestamp is the time when it is sent.
//
// A PacedRecorder has no goroutine to stop. It must be created by NewPacedRecorder, and may be used concurrently.
type PacedRecorder struct {
	recorder Recorder
	queue    *pacedQueue
}

// PaceOption configures a PacedRecorder.
type PaceOption func(*pacedQueue)

// WithPace sets the rate of events per second, and the burst. The defaults are DefaultPace
// and DefaultBurst. A rate that is not positive means no limit.
func WithPace(perSecond float64, burst int) PaceOption {
	return func(q *pacedQueue) {
		if perSecond <= 0 {
			perSecond = float64(rate.Inf)
		}
		q.pace = rate.NewLimiter(rate.Limit(perSecond), max(burst, 1))
		q.expected = rate.NewLimiter(rate.Limit(perSecond), max(burst, 1))
	}
}

// NewPacedRecorder returns a recorder that sends events to r at a limited rate. Events about objects whose type is
// not in the scheme are not limited.
func NewPacedRecorder(r Recorder, scheme *runtime.Scheme, o ...PaceOption) *PacedRecorder {
	q := &pacedQueue{scheme: scheme}
	WithPace(DefaultPace, DefaultBurst)(q)
	for _, option := range o {
		option(q)
	}

	return &PacedRecorder{recorder: r, queue: q}
}

// Event sends the event now, or queues it.
func (r *PacedRecorder) Event(obj runtime.Object, e Event) {
	if !isNil(obj) && !r.queue.enqueue(r.recorder, obj, e) {
		r.recorder.Event(obj, e)
	}
}

// WithAnnotations returns a recorder that adds the alternating keys and values to the annotations of each event. The
// returned recorder shares its queue with the original.
func (r *PacedRecorder) WithAnnotations(keysAndValues ...string) Recorder {
	return &PacedRecorder{recorder: r.recorder.WithAnnotations(keysAndValues...), queue: r.queue}
}

// Stop drops the queued events, also the events of recorders that WithAnnotations returned. Later events are sent at
// once. Call Stop if the process continues after the manager of the wrapped recorder has stopped. Further calls do
// nothing.
func (r *PacedRecorder) Stop() { r.queue.stop() }

// pacedQueue has the events that wait.
type pacedQueue struct {
	scheme   *runtime.Scheme
	pace     *rate.Limiter // of the events that are sent
	expected *rate.Limiter // of the events that are recorded

	mu         sync.Mutex
	lastExcess time.Time    // when recorded events last exceeded the rate
	waiting    []pacedEvent // the timer sends the first
	next       *time.Timer
	stopped    bool
}

// pacedEvent is an event in the queue.
type pacedEvent struct {
	to    Recorder
	about *corev1.ObjectReference
	event Event
}

// enqueue queues an event, unless it is to be sent at once. It reports whether it did.
func (q *pacedQueue) enqueue(to Recorder, obj runtime.Object, e Event) bool {
	if e.Type == TypeWarning || e.Immediate {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()

	if !q.expected.Allow() {
		q.lastExcess = time.Now()
	}
	if q.stopped || len(q.waiting) == 0 && q.pace.Allow() || len(q.waiting) >= maxWaiting {
		return false
	}
	about, err := reference.GetReference(q.scheme, obj)
	if err != nil {
		return false
	}
	e.Message = truncate(e.Message)
	q.waiting = append(q.waiting, pacedEvent{to, about, e})
	if len(q.waiting) == 1 {
		q.scheduleNext()
	}

	return true
}

// scheduleNext sets the timer for the first event.
func (q *pacedQueue) scheduleNext() {
	tokens := 1
	if time.Since(q.lastExcess) < busyWindow && len(q.waiting) < busyMaxWaiting {
		tokens = min(busyCost, q.pace.Burst())
	}
	q.next = time.AfterFunc(q.pace.ReserveN(time.Now(), tokens).Delay(), q.sendNext)
}

func (q *pacedQueue) sendNext() {
	q.mu.Lock()
	if q.stopped { // when the timer had fired
		q.mu.Unlock()

		return
	}
	first := q.waiting[0]
	q.waiting[0] = pacedEvent{}
	if q.waiting = q.waiting[1:]; len(q.waiting) > 0 {
		q.scheduleNext()
	} else {
		q.waiting = nil
	}
	q.mu.Unlock()

	first.to.Event(first.about, first.event)
}

func (q *pacedQueue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.stopped, q.waiting = true, nil
	if q.next != nil {
		q.next.Stop()
	}
}
