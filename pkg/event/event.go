// Package event records Kubernetes events about objects.
//
// Start with NewRecorder and the recorder of a manager, or with NewAPIRecorder for the older event API. In tests, use
// NewNopRecorder, which drops all events. NewThrottledRecorder wraps another recorder and drops repeated events.
// NewPacedRecorder wraps another recorder and limits the rate of events.
//
// A message is never used as a format string. It is made valid UTF-8 and truncated to the 1024 bytes that the API
// server accepts. Recorders may be used concurrently.
package event

import (
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// Type is the type of an event: normal or warning.
type Type string

// The event types that Kubernetes knows.
const (
	// TypeNormal is for information.
	TypeNormal Type = "Normal"

	// TypeWarning is for problems that may need attention.
	TypeWarning Type = "Warning"
)

// Reason is a CamelCase word of at most 128 bytes that programs may branch on.
type Reason string

// Event is an event about an object. Type and Reason are required.
type Event struct {
	// Type of the event.
	Type Type

	// Reason for the event.
	Reason Reason

	// Message for a human.
	Message string

	// Annotations of the event itself. They override annotations of the recorder with the same keys.
	Annotations map[string]string

	// Action is the action that was taken or that failed, in one CamelCase word. Only the newer event API has it, and
	// requires it. If it is empty, the reason is used.
	Action string

	// Related is a second object that the event is about, such as a dependency. Only the newer event API has it. It may
	// be nil.
	Related runtime.Object

	// Immediate means that a user waits for the event. A PacedRecorder sends it at once, and a ThrottledRecorder also if
	// it is repeated.
	Immediate bool
}

// Normal returns a normal event with alternating keys and values of
// annotations. A key without a value is ignored.
func Normal(r Reason, message string, keysAndValues ...string) Event {
	return Event{Type: TypeNormal, Reason: r, Message: message, Annotations: pairs(keysAndValues)}
}

// Warning returns a warning event whose message is the text of err. The event has annotations of alternating keys and
// values. If err is nil, the message is empty. The text is not redacted: the caller must redact an error that may
// contain secrets.
func Warning(r Reason, err error, keysAndValues ...string) Event {
	e := Event{Type: TypeWarning, Reason: r, Annotations: pairs(keysAndValues)}
	if err != nil {
		e.Message = err.Error()
	}

	return e
}

// A Recorder records events about objects.
type Recorder interface {
	// Event records an event about the object. It does not wait until the event is sent, and returns no error. If obj is
	// nil, it does nothing.
	Event(obj runtime.Object, e Event)

	// WithAnnotations returns a recorder that adds the alternating keys and
	// values to the annotations of each event. The original is not changed.
	WithAnnotations(keysAndValues ...string) Recorder
}

// maxMessage is the maximum length of a note in events.k8s.io/v1, in bytes.
const maxMessage = 1024

const cutMark = "..."

// APIRecorder records events with a recorder of client-go. It must be created by
// NewRecorder or NewAPIRecorder.
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

// NewRecorder returns a recorder that uses the API events.k8s.io, as GetEventRecorder of a manager does. Annotations
// are sent only if r is also an events.AnnotatedEventRecorder. The recorders of client-go and of a manager are.
func NewRecorder(r events.EventRecorder) *APIRecorder {
	annotated, _ := r.(events.AnnotatedEventRecorder)

	return &APIRecorder{send: func(obj runtime.Object, annotations map[string]string, e Event) {
		if e.Action == "" {
			e.Action = string(e.Reason)
		}

		if isNil(e.Related) {
			e.Related = nil
		}

		if annotated == nil || len(annotations) == 0 {
			r.Eventf(obj, e.Related, string(e.Type), string(e.Reason), e.Action, "%s", e.Message)

			return
		}

		annotated.AnnotatedEventf(obj, e.Related, annotations, string(e.Type), string(e.Reason), e.Action, "%s",
			e.Message)
	}}
}

// Event records an event about the object. It ignores a nil object and a nil pointer to an object.
func (r *APIRecorder) Event(obj runtime.Object, e Event) {
	if isNil(obj) {
		return
	}

	e.Message = truncate(e.Message)
	r.send(obj, merge(r.annotations, e.Annotations), e)
}

// WithAnnotations returns a recorder that adds the alternating keys and values
// to the annotations of each event. A key without a value is ignored.
func (r *APIRecorder) WithAnnotations(keysAndValues ...string) Recorder {
	return &APIRecorder{send: r.send, annotations: merge(r.annotations, pairs(keysAndValues))}
}

// NopRecorder drops all events. Its zero value is ready to use.
type NopRecorder struct{}

// NewNopRecorder returns a recorder that drops all events.
func NewNopRecorder() *NopRecorder { return &NopRecorder{} }

// Event does nothing.
func (r *NopRecorder) Event(_ runtime.Object, _ Event) {}

// WithAnnotations returns the recorder itself.
func (r *NopRecorder) WithAnnotations(_ ...string) Recorder { return r }

// isNil reports whether obj is nil or a nil pointer, which client-go would dereference.
func isNil(obj runtime.Object) bool {
	if obj == nil {
		return true
	}

	v := reflect.ValueOf(obj)

	return v.Kind() == reflect.Pointer && v.IsNil()
}

// truncate returns the message as valid UTF-8 of at most maxMessage bytes. It reads no more
// than that, because an error may contain a large response. The replacement of an invalid
// sequence is one byte long, so that the text never grows.
func truncate(message string) string {
	tooLong := len(message) > maxMessage
	message = strings.ToValidUTF8(message[:min(len(message), maxMessage)], "?")

	if !tooLong {
		return message
	}

	// Only a character that was cut in two can be invalid here; it is removed.
	return strings.ToValidUTF8(message[:min(len(message), maxMessage-len(cutMark))], "") + cutMark
}

func pairs(keysAndValues []string) map[string]string {
	m := make(map[string]string, len(keysAndValues)/2)

	for i := 0; i+1 < len(keysAndValues); i += 2 {
		m[keysAndValues[i]] = keysAndValues[i+1]
	}

	return m
}

func merge(base, more map[string]string) map[string]string {
	m := make(map[string]string, len(base)+len(more))
	maps.Copy(m, base)
	maps.Copy(m, more)

	return m
}
