// Package event tells users what happened to an object, as Kubernetes events.
//
// Begin with NewRecorder and the recorder of a manager, or with NewAPIRecorder
// where the older event API is in use; in tests, NewNopRecorder drops
// everything. Around either of them, NewThrottledRecorder keeps back what was
// just said. A message is sent as it is, never used as a format string, after
// it was made valid UTF-8 and cut to the 1024 bytes that the API server accepts.
// Recorders may be used concurrently.
package event

import (
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// A Type says whether an event is good or bad news.
type Type string

// The event types that Kubernetes knows.
const (
	// TypeNormal: something went as it should.
	TypeNormal Type = "Normal"

	// TypeWarning: something needs attention.
	TypeWarning Type = "Warning"
)

// A Reason is one CamelCase word, at most 128 bytes long, that programs may
// branch on.
type Reason string

// An Event about an object. Type and Reason are required.
type Event struct {
	// Type of the event.
	Type Type

	// Reason for the event.
	Reason Reason

	// Message for a human.
	Message string

	// Annotations of the event itself. They win over those of the recorder.
	Annotations map[string]string

	// Action that was taken or failed, one CamelCase word. Only the newer event
	// API has it. If it is empty, the reason is sent in its place, because the
	// API server insists on one.
	Action string

	// Related is a second object that the event is about, such as one that is
	// waited for. Only the newer event API has it. Nil is none.
	Related runtime.Object
}

// Normal returns a normal event with alternating keys and values of
// annotations. A key without a value is left out.
func Normal(r Reason, message string, keysAndValues ...string) Event {
	return Event{Type: TypeNormal, Reason: r, Message: message, Annotations: pairs(keysAndValues)}
}

// Warning returns a warning event whose message is the text of err, with
// alternating keys and values of annotations. A nil error gives an empty
// message. The text is sent as it is: whoever cannot vouch for an error redacts
// it before.
func Warning(r Reason, err error, keysAndValues ...string) Event {
	e := Event{Type: TypeWarning, Reason: r, Annotations: pairs(keysAndValues)}
	if err != nil {
		e.Message = err.Error()
	}

	return e
}

// A Recorder records events about objects.
type Recorder interface {
	// Event records an event about the object. It does not wait until it is
	// sent, and it cannot fail. Without an object nothing is recorded.
	Event(obj runtime.Object, e Event)

	// WithAnnotations returns a recorder that adds the alternating keys and
	// values to the annotations of each event. The original is not changed.
	WithAnnotations(keysAndValues ...string) Recorder
}

// maxMessage is what the validation of events.k8s.io/v1 accepts as a note, in
// bytes.
const maxMessage = 1024

const cutMark = "..."

// An APIRecorder records events with a recorder of client-go. The zero value is
// not usable.
type APIRecorder struct {
	send        func(obj runtime.Object, annotations map[string]string, e Event)
	annotations map[string]string
}

// NewAPIRecorder returns a recorder that uses the older event API, as
// GetEventRecorderFor of a manager does.
func NewAPIRecorder(r record.EventRecorder) *APIRecorder {
	return &APIRecorder{send: func(obj runtime.Object, annotations map[string]string, e Event) {
		r.AnnotatedEventf(obj, annotations, string(e.Type), string(e.Reason), "%s", e.Message)
	}}
}

// NewRecorder returns a recorder that uses events.k8s.io, as GetEventRecorder
// of a manager does. Annotations are sent if r is an events.AnnotatedEventRecorder
// too, as the recorders of client-go and of a manager are.
func NewRecorder(r events.EventRecorder) *APIRecorder {
	annotated, _ := r.(events.AnnotatedEventRecorder)

	return &APIRecorder{send: func(obj runtime.Object, annotations map[string]string, e Event) {
		if e.Action == "" {
			e.Action = string(e.Reason)
		}

		if absent(e.Related) {
			e.Related = nil
		}

		if annotated == nil || len(annotations) == 0 {
			r.Eventf(obj, e.Related, string(e.Type), string(e.Reason), e.Action, "%s", e.Message)

			return
		}

		annotated.AnnotatedEventf(obj, e.Related, annotations, string(e.Type), string(e.Reason), e.Action, "%s", e.Message)
	}}
}

// Event records an event about the object. A nil object, or a nil pointer to
// one, is ignored.
func (r *APIRecorder) Event(obj runtime.Object, e Event) {
	if absent(obj) {
		return
	}

	e.Message = bounded(e.Message)
	r.send(obj, joined(r.annotations, e.Annotations), e)
}

// WithAnnotations returns a recorder that adds the alternating keys and values
// to the annotations of each event. A key without a value is left out.
func (r *APIRecorder) WithAnnotations(keysAndValues ...string) Recorder {
	return &APIRecorder{send: r.send, annotations: joined(r.annotations, pairs(keysAndValues))}
}

// A NopRecorder drops all events. Its zero value is ready to use.
type NopRecorder struct{}

// NewNopRecorder returns a recorder that drops all events.
func NewNopRecorder() *NopRecorder { return &NopRecorder{} }

// Event does nothing.
func (r *NopRecorder) Event(_ runtime.Object, _ Event) {}

// WithAnnotations returns the recorder itself.
func (r *NopRecorder) WithAnnotations(_ ...string) Recorder { return r }

// absent finds the typed nil as well: client-go would dereference it.
func absent(obj runtime.Object) bool {
	if obj == nil {
		return true
	}

	v := reflect.ValueOf(obj)

	return v.Kind() == reflect.Pointer && v.IsNil()
}

// bounded looks at no more than it can send, because an error can carry the
// megabytes of a response. The replacement of broken bytes is one byte long, so
// that the text never grows.
func bounded(message string) string {
	tooLong := len(message) > maxMessage
	message = strings.ToValidUTF8(message[:min(len(message), maxMessage)], "?")

	if !tooLong {
		return message
	}

	// Only a character cut in two can be invalid here, and it goes.
	return strings.ToValidUTF8(message[:min(len(message), maxMessage-len(cutMark))], "") + cutMark
}

func pairs(keysAndValues []string) map[string]string {
	m := make(map[string]string, len(keysAndValues)/2)

	for i := 0; i+1 < len(keysAndValues); i += 2 {
		m[keysAndValues[i]] = keysAndValues[i+1]
	}

	return m
}

func joined(base, more map[string]string) map[string]string {
	m := make(map[string]string, len(base)+len(more))
	maps.Copy(m, base)
	maps.Copy(m, more)

	return m
}
