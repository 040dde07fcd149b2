package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/reasons"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// A verdict says whether an object has a state.
type verdict struct {
	object  object.Object
	reached bool
	blocked bool   // waiting does not help
	because string // why it is not reached
	remedy  string
}

// state judges an object, or what it was before it was deleted.
func state(it item, want string, gone bool) verdict {
	o := it.object
	at, deleting := o.Deleted()
	by := o.Paused()

	switch v := (verdict{object: o}); {
	case gone && want == forGone:
		v.reached = true

		return v
	case gone:
		v.blocked, v.because = true, "it was deleted"

		return v
	case want != forGone && deleting:
		v.blocked, v.because = true, "it is being deleted, since "+at.UTC().Format(time.RFC3339)

		return v
	case want != forGone && reached(o, want):
		v.reached = true

		return v
	case by != "":
		v.blocked, v.because, v.remedy = true, "it is paused by "+by, it.resumption(by)

		return v
	case want == forGone && !deleting:
		v.because = "its deletion was not requested"

		return v
	}

	return unreached(o, want)
}

// reached reports whether an object that exists has the state.
func reached(o object.Object, want string) bool {
	ready, _ := o.Condition(reasons.TypeReady)
	if !ready.True() || !o.Present(ready) {
		return false
	}

	if want == forReady {
		return true
	}

	upToDate, has := o.Condition(reasons.TypeUpToDate)
	if !has { // such a kind has the condition only once something has differed
		upToDate, _ = o.Condition(reasons.TypeSynced)
	}

	return upToDate.True() && o.Present(upToDate)
}

// considered are the conditions that keep an object from a state, the most specific one first.
func considered(want string) []string {
	switch want {
	case forApplied:
		return []string{reasons.TypeSynced, reasons.TypeUpToDate, reasons.TypeReady}
	case forGone:
		return []string{reasons.TypeSynced}
	}

	return []string{reasons.TypeSynced, reasons.TypeReady}
}

// unreached says why an object does not have the state: that it is stalled, and the first condition that is not True.
func unreached(o object.Object, want string) verdict {
	v := verdict{object: o}

	var sentences []string

	if stalled, _ := o.Condition(reasons.TypeStalled); stalled.True() && o.Present(stalled) {
		v.blocked, sentences = true, append(sentences, sentence(stalled))
	}

	if c, found := hindering(o, want); found {
		known, _ := reasons.Of(c.Type, c.Reason)
		sentences, v.remedy = append(sentences, sentence(c)), known.Remedy
		v.blocked = v.blocked || reasons.Blocks(c.Reason) && (want != forGone || reasons.BlocksDeletion(c.Reason))
	}

	switch {
	case len(sentences) > 0:
		v.because = strings.Join(sentences, "; ")
	case len(o.Conditions()) > 0:
		v.because = "its provider has not reconciled its present spec yet, or is not running"
	default:
		v.because = "it has no conditions: its provider has not reconciled it yet, or is not running"
	}

	if want == forGone {
		v.because = fmt.Sprintf("it has the finalizers %s; %s", strings.Join(o.Finalizers(), ", "), v.because)
	}

	return v
}

// hindering returns the first condition about the present spec that keeps an object from a state.
func hindering(o object.Object, want string) (object.Condition, bool) {
	for _, kind := range considered(want) {
		c, has := o.Condition(kind)
		if has && o.Present(c) && (!c.True() || want == forGone && c.Message != "") {
			return c, true
		}
	}

	return object.Condition{}, false
}

// sentence returns what a condition says. A message is quoted: it may be a text of the external system, and must not be
// taken for one of this program.
func sentence(c object.Condition) string {
	about := text.Quote(c.Message)
	if c.Message == "" {
		known, _ := reasons.Of(c.Type, c.Reason)
		about = known.Meaning
	}

	out := text.Word(c.Type) + " is " + text.Word(string(c.Status))
	if c.Reason != "" {
		out += " (" + text.Word(c.Reason) + ")"
	}

	if about == "" {
		return out
	}

	return out + ": " + about
}
