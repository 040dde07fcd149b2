package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A sinks receives everything that a provider emits: events, logs, spans, metrics, errors and records of changes. It
// checks that none of it contains a secret.
type sinks struct {
	world   *World
	meters  *meters
	lines   []string       // the trace, in a verbose world
	events  int            // how many
	latest  [2]string      // different texts of events, the newest first
	checked map[string]int // checked texts by sink, in a verbose world

	leftOver map[string]bool    // names of objects whose resource was reported as possibly left over
	taken    map[types.UID]bool // objects for which a CreationRecordTaken event was emitted
}

// Event receives an event of the provider, and checks it.
func (t *sinks) Event(of runtime.Object, e event.Event) {
	t.events++
	if mg := asManaged(of); mg != nil && e.Reason == recordTaken {
		t.taken[mg.GetUID()] = true
	} else if mg != nil && e.Reason == "ConnectionDetailsLost" {
		t.world.keys.lost[mg.GetUID()] = true
	}
	if t.world.judgedBefore() {
		return
	}
	if e.Message != t.latest[0] {
		t.latest = [2]string{e.Message, t.latest[0]}
	}
	t.record("event", fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	for key, value := range e.Annotations {
		t.check("an annotation of an event", key+" "+value)
	}
}

// alternating describes the two latest texts of events, for a message that there are too many events.
func (t *sinks) alternating() string {
	if t.latest[1] == "" {
		return ""
	}

	return t.world.hide(fmt.Sprintf(": an event repeats if its text changes, and the latest texts are %q and %q",
		t.latest[1], t.latest[0]))
}

// WithAnnotations checks that the annotations of an event contain no secret. It returns the recorder itself.
func (t *sinks) WithAnnotations(keysAndValues ...string) event.Recorder {
	t.record("annotation of events", strings.Join(keysAndValues, " "))

	return t
}

// Info checks that a line of the log contains no secret, and adds the line to the trace.
func (t *sinks) Info(msg string, keysAndValues ...any) { t.log(msg, keysAndValues) }

// Debug checks that a debug line of the log contains no secret, and adds the line to the trace.
func (t *sinks) Debug(msg string, keysAndValues ...any) { t.log(msg, keysAndValues) }

// log receives a line of the log.
func (t *sinks) log(msg string, keysAndValues []any) {
	if strings.HasPrefix(msg, "An external resource may be left over") {
		if i := slices.Index(keysAndValues, any("name")); i >= 0 {
			t.leftOver[fmt.Sprint(keysAndValues[i+1])] = true
		}
	}
	t.world.hooks.planning.decides(msg, keysAndValues)
	if t.world.verbose {
		t.record("log", logLine(msg, keysAndValues))

		return
	}
	t.check("log", msg)
	t.checkAll(keysAndValues)
}

// logLine returns a line of the log, with its values as key=value. A value with spaces is quoted.
func logLine(msg string, keysAndValues []any) string {
	for i := 0; i < len(keysAndValues); i += 2 {
		value := any("(no value)")
		if i+1 < len(keysAndValues) {
			value = keysAndValues[i+1]
		}
		text := fmt.Sprint(value)
		if text == "" || strings.ContainsAny(text, " \t\n\"") {
			text = strconv.Quote(text)
		}
		msg += fmt.Sprintf(" %v=%s", keysAndValues[i], text)
	}

	return msg
}

// WithValues checks that the values contain no secret, and returns the logger itself.
func (t *sinks) WithValues(keysAndValues ...any) logging.Logger {
	t.checkAll(keysAndValues)

	return t
}

// checkAll checks logged values. It formats only those that are not texts.
func (t *sinks) checkAll(values []any) {
	if t.world.judgedBefore() {
		return
	}
	for _, value := range values {
		switch v := value.(type) {
		case nil, bool, int, int64:
		case string:
			t.check("log", v)
		case types.UID:
			t.check("log", string(v))
		case error:
			t.check("log", v.Error())
		default:
			t.check("log", fmt.Sprintf("%+v", v))
		}
	}
}

// recordChange receives a record of a change.
func (t *sinks) recordChange(_ context.Context, e changelog.Entry) error {
	t.record("change", fmt.Sprintf("%s %s because %s: %s %v %v %s %s", e.Operation, e.Name, e.Cause, e.Error,
		e.Differences, e.Details, e.Before, e.After))

	return nil
}

// record checks a text, and adds it to the trace.
func (t *sinks) record(where, text string) {
	t.check(where, text)
	if t.world.verbose {
		t.lines = append(t.lines, fmt.Sprintf("%10s      %s: %s", t.world.since(), where, text))
	}
}

// recordStep adds an operation to the trace.
func (t *sinks) recordStep(e *Step, text string) {
	line := fmt.Sprintf("%10s p%d  %s#%d", e.At, e.Process, e.Op.Name, e.N)
	for _, f := range e.Faults {
		line += " <" + f.String() + ">"
	}
	t.lines = append(t.lines, line+": "+text)
}

// passEnded receives the result of a pass. Controllers log its error unchanged.
func (t *sinks) passEnded(p *process, key types.NamespacedName, result reconcile.Result, err error) {
	if err != nil && !t.world.judgedBefore() {
		t.check("the error of a pass", err.Error())
	}
	if !t.world.verbose {
		return
	}
	t.lines = append(t.lines, fmt.Sprintf("%10s p%d  == pass of %s ended: %s", t.world.since(), p.number, key.Name,
		describeRequeue(result, err)))
}

// describeRequeue describes when the queue returns the object of a pass, as controller-runtime decides it.
func describeRequeue(result reconcile.Result, err error) string {
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)):
		return "not requeued, error: " + err.Error()
	case err != nil:
		return "requeued with backoff, error: " + err.Error()
	case result.RequeueAfter > 0:
		return fmt.Sprintf("requeued after %s", result.RequeueAfter)
	case result.Requeue: //nolint:staticcheck // reconcilers use it still
		return "requeued with backoff"
	default:
		return "not requeued"
	}
}

// check judges that a text contains no secret.
func (t *sinks) check(where, text string) {
	if t.world.judgedBefore() {
		return
	}
	if t.world.verbose {
		t.checked[where]++
	}
	if t.world.isSecret(text) {
		t.world.violate("S10", where+" shows a secret: "+t.world.hide(text))
	}
}
