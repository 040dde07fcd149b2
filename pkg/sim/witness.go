package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A witness takes whatever the provider tells: events, logs, spans, metrics, errors
// and records of changes. Nobody may see a secret in them.
type witness struct {
	world *World
	lines []string       // of a world that is verbose
	told  int            // events
	sinks map[string]int // texts that were looked at, of a world that is verbose

	leftOver map[string]bool    // names of objects of which it was said that their resource may be left over
	taken    map[types.UID]bool // objects of which it was said that their record was taken, or that of an earlier creation written
}

// looks for a secret in a text.
func (t *witness) looks(where, text string) {
	if t.world.repeats() {
		return
	}
	if t.world.verbose {
		t.sinks[where]++
	}
	if t.world.secret(text) {
		t.world.violate("S10", where+" shows a secret: "+t.world.hide(text))
	}
}

func (t *witness) hears(where, text string) {
	t.looks(where, text)
	if t.world.verbose {
		t.lines = append(t.lines, fmt.Sprintf("%10s      %s: %s", t.world.since(), where, text))
	}
}

// Event takes an event.
func (t *witness) Event(of runtime.Object, e event.Event) {
	t.told++
	if mg := asManaged(of); mg != nil && e.Reason == recordTaken {
		t.taken[mg.GetUID()] = true
	} else if mg != nil && e.Reason == "ConnectionDetailsLost" {
		t.world.keyLost[mg.GetUID()] = true
	}
	if t.world.repeats() {
		return
	}
	t.hears("event", fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	for key, value := range e.Annotations {
		t.looks("an annotation of an event", key+" "+value)
	}
}

// WithAnnotations returns the witness.
func (t *witness) WithAnnotations(keysAndValues ...string) event.Recorder {
	t.hears("annotation of events", strings.Join(keysAndValues, " "))

	return t
}

// Info takes a line of the log.
func (t *witness) Info(msg string, keysAndValues ...any) { t.log(msg, keysAndValues) }

// Debug takes a line of the log.
func (t *witness) Debug(msg string, keysAndValues ...any) { t.log(msg, keysAndValues) }

// WithValues returns the witness.
func (t *witness) WithValues(keysAndValues ...any) logging.Logger {
	t.looksAtAll(keysAndValues)

	return t
}

func (t *witness) log(msg string, keysAndValues []any) {
	if strings.HasPrefix(msg, "An external resource may be left over") {
		if i := slices.Index(keysAndValues, any("name")); i >= 0 {
			t.leftOver[fmt.Sprint(keysAndValues[i+1])] = true
		}
	}
	if t.world.verbose {
		t.hears("log", msg+" "+fmt.Sprint(keysAndValues...))

		return
	}
	t.looks("log", msg)
	t.looksAtAll(keysAndValues)
}

// looksAtAll looks at what is logged, and prints nothing that is a text already.
func (t *witness) looksAtAll(values []any) {
	if t.world.repeats() {
		return
	}
	for _, value := range values {
		switch v := value.(type) {
		case nil, bool, int, int64:
		case string:
			t.looks("log", v)
		case types.UID:
			t.looks("log", string(v))
		case error:
			t.looks("log", v.Error())
		default:
			t.looks("log", fmt.Sprintf("%+v", v))
		}
	}
}

// record takes a record of a change.
func (t *witness) record(_ context.Context, e changelog.Entry) error {
	t.hears("change", fmt.Sprintf("%s %s %s %v %s %s", e.Operation, e.Name, e.Error, e.Details, e.Before, e.After))

	return nil
}

// step tells of an operation.
func (t *witness) step(e *entry, text string) {
	line := fmt.Sprintf("%10s p%d  %s#%d", e.at, e.process, e.op.name, e.n)
	for _, f := range e.faults {
		line += " <" + f.String() + ">"
	}
	t.lines = append(t.lines, line+": "+text)
}

// passEnded takes how a pass ended. Controllers log its error as it is.
func (t *witness) passEnded(p *process, key types.NamespacedName, result reconcile.Result, err error) {
	if err != nil && !t.world.repeats() {
		t.looks("the error of a pass", err.Error())
	}
	if !t.world.verbose {
		return
	}
	line := fmt.Sprintf("%10s p%d  == pass of %s ended: again after %s", t.world.since(), p.number, key.Name, result.RequeueAfter)
	if result.Requeue { //nolint:staticcheck // reconcilers use it still
		line += " (with back-off)"
	}
	if err != nil {
		line += ", error: " + err.Error()
	}
	t.lines = append(t.lines, line)
}
