package changelog

import (
	"bytes"
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
)

// NewJSON returns a sink that writes each entry as a line of JSON, with one call of Write. Record blocks while the
// writer blocks.
func NewJSON(w io.Writer) Sink {
	l := &lineWriter{}

	return SinkFunc(func(_ context.Context, e Entry) error { return l.write(w, e) })
}

// lineWriter writes one line at a time.
type lineWriter struct {
	mu         sync.Mutex
	unfinished bool // the previous line was written only in part
}

// write encodes and writes an entry.
func (l *lineWriter) write(w io.Writer, e Entry) error {
	b, err := encodeLine(e)
	if err != nil {
		return err
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	return l.writeLine(w, b)
}

// writeLine writes a line. It first terminates the previous line if that was written only
// in part.
func (l *lineWriter) writeLine(w io.Writer, b []byte) error {
	if l.unfinished {
		b = append([]byte("\n"), b...)
	}

	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}

	if n > 0 {
		l.unfinished = err != nil
	}

	return errors.Wrap(err, "cannot write change log entry")
}

// encodeLine returns the redacted entry as a line of JSON.
func encodeLine(e Entry) ([]byte, error) {
	var b bytes.Buffer

	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)

	if err := enc.Encode(e.redacted()); err != nil {
		return nil, errors.Wrap(err, "cannot encode change log entry")
	}

	return b.Bytes(), nil
}

// Reasons of the events of NewEvents.
const (
	// ReasonChanged reports a change that succeeded.
	ReasonChanged event.Reason = "ExternalResourceChanged"

	// ReasonNotChanged reports a change that failed.
	ReasonNotChanged event.Reason = "ExternalResourceNotChanged"
)

// NewEvents returns a sink that records a Kubernetes event about the object for each change. The action of the event is
// the name of the operation. The event of a failed operation is a warning. Events do not contain the object before and
// after the change. Record returns an error for an entry without a name or a kind.
func NewEvents(r event.Recorder) Sink {
	return SinkFunc(func(_ context.Context, e Entry) error {
		if e.Name == "" || e.GroupVersionKind.Kind == "" {
			return errors.New("cannot make an event of a change log entry without the name and kind of an object")
		}

		r.Event(objectOf(e), eventOf(e))

		return nil
	})
}

// objectOf returns an object that is sufficient for an event.
func objectOf(e Entry) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(e.GroupVersionKind)
	o.SetNamespace(e.Namespace)
	o.SetName(e.Name)
	o.SetUID(e.UID)

	return o
}

// eventOf returns the event of an entry.
func eventOf(e Entry) event.Event {
	what := fmt.Sprintf("%s of external resource", e.Operation)
	if e.ExternalName != "" {
		what += fmt.Sprintf(" %q", redact.String(e.ExternalName))
	}

	ev := event.Normal(ReasonChanged, what+" succeeded")
	if e.Error != "" {
		ev = event.Warning(ReasonNotChanged, errors.New(redact.String(what+" failed: "+e.Error)))
	}

	ev.Action = string(e.Operation)

	return ev
}

// Multi returns a sink that records each entry in all sinks, one after the other. If some of them fail, it still
// calls the others, and returns all errors. A sink that blocks delays the sinks after it. Put a queue in front of
// such a sink.
func Multi(sinks ...Sink) Sink {
	return SinkFunc(func(ctx context.Context, e Entry) error {
		var errs []error
		for _, s := range sinks {
			errs = append(errs, recordSafely(ctx, s, e))
		}

		return stderrors.Join(errs...)
	})
}

// recordSafely records the entry in the sink, and returns a panic as an error.
func recordSafely(ctx context.Context, s Sink, e Entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("sink of change log entries panicked: %v", p)
		}
	}()

	return s.Record(ctx, e)
}
