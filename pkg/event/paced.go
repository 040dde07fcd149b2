package event

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/reference"
)

// The pace of a PacedRecorder, unless WithPace says otherwise.
const (
	DefaultPace  = 50 // events in a second
	DefaultBurst = 100
)

// busyShare is what is left of the pace while more events come than it allows: they
// tell of work that goes on. A line that is half full has waited for that long enough.
const (
	busyShare = 5
	busyFor   = time.Second // since the last event that was too many
	busyUntil = maxWaiting / 2
)

// maxWaiting bounds the memory of a PacedRecorder, in events of some 500 bytes each.
// Beyond it they are handed on at once.
const maxWaiting = 10_000

// A PacedRecorder hands good news on to another recorder no faster than at a pace.
// Client-go sends each event as soon as it is recorded, however many there are:
// when thousands of objects are created or deleted at a time, the API server is then as
// busy with telling of it as with the work itself, which takes longer for that. So what
// comes faster waits, and is handed on in order, in the time that the work leaves: at a
// fifth of the pace as long as events come faster than it and no more than 5,000 wait, and
// else at the pace.
//
// Warnings never wait, and so may overtake good news of the same object. What waits
// when the process ends, or when the recorder is stopped, is not told. An event that waits
// keeps no more of its object than a reference; the time it bears is when it was handed on.
// There is no goroutine to stop. It may be used concurrently. The zero value is not usable.
type PacedRecorder struct {
	recorder Recorder
	line     *line
}

// A PaceOption configures a PacedRecorder.
type PaceOption func(*line)

// WithPace sets how many events are handed on in a second, and how many at once
// after a time without any. The default is DefaultPace and DefaultBurst; a pace that
// is not positive makes none wait.
func WithPace(perSecond float64, burst int) PaceOption {
	return func(l *line) {
		if perSecond <= 0 {
			perSecond = float64(rate.Inf)
		}
		l.pace = rate.NewLimiter(rate.Limit(perSecond), max(burst, 1))
		l.expected = rate.NewLimiter(rate.Limit(perSecond), max(burst, 1))
	}
}

// NewPacedRecorder returns a recorder that hands events on to r at a pace. The scheme
// knows the types of the objects that events are about; those of others do not wait.
func NewPacedRecorder(r Recorder, scheme *runtime.Scheme, o ...PaceOption) *PacedRecorder {
	l := &line{scheme: scheme}
	WithPace(DefaultPace, DefaultBurst)(l)
	for _, option := range o {
		option(l)
	}

	return &PacedRecorder{recorder: r, line: l}
}

// Event hands the event on, now or when it is its turn.
func (r *PacedRecorder) Event(obj runtime.Object, e Event) {
	if !absent(obj) && !r.line.waits(r.recorder, obj, e) {
		r.recorder.Event(obj, e)
	}
}

// WithAnnotations returns a recorder that adds the alternating keys and values to
// the annotations of each event. Its events wait in the same line.
func (r *PacedRecorder) WithAnnotations(keysAndValues ...string) Recorder {
	return &PacedRecorder{recorder: r.recorder.WithAnnotations(keysAndValues...), line: r.line}
}

// Stop drops what waits, here and in the recorders with annotations that were made of
// this one. What comes afterwards is handed on at once. It is for a process that goes on
// when whom the recorder hands on to has ended, such as a manager; it may be called again.
func (r *PacedRecorder) Stop() { r.line.stop() }

// A line is what waits.
type line struct {
	scheme   *runtime.Scheme
	pace     *rate.Limiter // of what is handed on
	expected *rate.Limiter // of what comes

	mu      sync.Mutex
	excess  time.Time // when more came than is expected
	waiting []waiting // the first is handed on by the timer
	next    *time.Timer
	stopped bool
}

// A waiting event is one that will be handed on.
type waiting struct {
	to    Recorder
	about *corev1.ObjectReference
	event Event
}

// waits puts an event into the line, unless it is to be handed on at once.
func (l *line) waits(to Recorder, obj runtime.Object, e Event) bool {
	if e.Type == TypeWarning {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()

	if !l.expected.Allow() {
		l.excess = time.Now()
	}
	if l.stopped || len(l.waiting) == 0 && l.pace.Allow() || len(l.waiting) >= maxWaiting {
		return false
	}
	about, err := reference.GetReference(l.scheme, obj)
	if err != nil {
		return false
	}
	e.Message = bounded(e.Message)
	l.waiting = append(l.waiting, waiting{to, about, e})
	if len(l.waiting) == 1 {
		l.callNext()
	}

	return true
}

// callNext lets the first be handed on when it may.
func (l *line) callNext() {
	turns := 1
	if time.Since(l.excess) < busyFor && len(l.waiting) < busyUntil {
		turns = min(busyShare, l.pace.Burst())
	}
	l.next = time.AfterFunc(l.pace.ReserveN(time.Now(), turns).Delay(), l.handOn)
}

func (l *line) handOn() {
	l.mu.Lock()
	if l.stopped { // as the timer rang
		l.mu.Unlock()

		return
	}
	first := l.waiting[0]
	l.waiting[0] = waiting{}
	if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
		l.callNext()
	} else {
		l.waiting = nil
	}
	l.mu.Unlock()

	first.to.Event(first.about, first.event)
}

func (l *line) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.stopped, l.waiting = true, nil
	if l.next != nil {
		l.next.Stop()
	}
}
