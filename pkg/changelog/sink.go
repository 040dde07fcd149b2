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

// NewJSON returns a sink that writes each entry as a line of JSON, with one call
// of Write. It blocks as long as the writer does.
func NewJSON(w io.Writer) Sink {
	l := &lines{}

	return SinkFunc(func(_ context.Context, e Entry) error { return l.write(w, e) })
}

// lines writes one line at a time.
type lines struct {
	mu   sync.Mutex
	open bool // The line before was not finished.
}

func (l *lines) write(w io.Writer, e Entry) error {
	b, err := line(e)
	if err != nil {
		return err
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	return l.put(w, b)
}

// put writes a line, and first ends the one before if that was cut off.
func (l *lines) put(w io.Writer, b []byte) error {
	if l.open {
		b = append([]byte("\n"), b...)
	}

	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}

	if n > 0 {
		l.open = err != nil
	}

	return errors.Wrap(err, "cannot write change log entry")
}

func line(e Entry) ([]byte, error) {
	var b bytes.Buffer

	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)

	if err := enc.Encode(e.redacted()); err != nil {
		return nil, errors.Wrap(err, "cannot encode change log entry")
	}

	return b.Bytes(), nil
}

// Reasons of the events that NewEvents makes.
const (
	// ReasonChanged is that of a change that was made.
	ReasonChanged event.Reason = "ExternalResourceChanged"

	// ReasonNotChanged is that of a change that failed.
	ReasonNotChanged event.Reason = "ExternalResourceNotChanged"
)

// NewEvents returns a sink that tells of each change in an event of its object. An
// event has no images; its action is the operation, and a failed one is a
// warning. Entries without a name or a kind are refused.
func NewEvents(r event.Recorder) Sink {
	return SinkFunc(func(_ context.Context, e Entry) error {
		if e.Name == "" || e.GroupVersionKind.Kind == "" {
			return errors.New("cannot make an event of a change log entry without the name and kind of an object")
		}

		r.Event(subject(e), eventOf(e))

		return nil
	})
}

// subject is enough of the object for a reference to it.
func subject(e Entry) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(e.GroupVersionKind)
	o.SetNamespace(e.Namespace)
	o.SetName(e.Name)
	o.SetUID(e.UID)

	return o
}

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

// Multi returns a sink that records each entry in all the sinks, one after the
// other, whether the ones before failed or not, and returns all their errors. A
// sink that blocks holds up those after it; a queue in front of it prevents that.
func Multi(sinks ...Sink) Sink {
	return SinkFunc(func(ctx context.Context, e Entry) error {
		var errs []error
		for _, s := range sinks {
			errs = append(errs, record(ctx, s, e))
		}

		return stderrors.Join(errs...)
	})
}

// record calls the sink, and returns a panic as an error.
func record(ctx context.Context, s Sink, e Entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("sink of change log entries panicked: %v", p)
		}
	}()

	return s.Record(ctx, e)
}
