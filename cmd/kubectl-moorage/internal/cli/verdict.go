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
	unknown bool   // the provider does not say whether it is reached
	because string // why it is not reached, or not known
	remedy  string
	note    string // what is not known of a state that is reached
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
		return sure(it, want)
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

	c, has := upToDate(o)

	return !has || c.True() && o.Present(c)
}

// upToDate returns the condition UpToDate, or Synced if the object has none. It returns false if it has neither.
func upToDate(o object.Object) (object.Condition, bool) {
	if c, has := o.Condition(reasons.TypeUpToDate); has {
		return c, true
	}

	return o.Condition(reasons.TypeSynced)
}

// What providers of other libraries may not say.
const (
	untoldDifference = "no condition UpToDate"
	untoldGeneration = "its provider does not say which generation its conditions are about (no observedGeneration)"
)

// sure judges an object whose conditions say that it has the state: a provider of another library may not say enough.
func sure(it item, want string) verdict {
	o := it.object
	ready, _ := o.Condition(reasons.TypeReady)
	c, _ := upToDate(o)

	switch v := (verdict{object: o}); {
	case want == forApplied && c.Type != reasons.TypeUpToDate && !it.kind.Complete:
		v.unknown, v.blocked = true, true
		v.because = "its provider does not say whether the external resource is as the spec says (" + untoldDifference + ")"

		return v
	case want == forApplied && (!o.Dated(ready) || !o.Dated(c)):
		v.unknown, v.blocked, v.because = true, true, untoldGeneration

		return v
	case !o.Dated(ready):
		v.reached, v.note = true, fmt.Sprintf("may be %s for an earlier spec: %s", want, untoldGeneration)

		return v
	default:
		v.reached = true

		return v
	}
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
