package reference

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

const (
	// maxPart is how much is shown of a name, which is as long as one may be.
	maxPart = 253

	// maxText is the greatest length of an error's text, in bytes.
	maxText = 1024

	// maxMembers is how many members of a cycle are named.
	maxMembers = 4
)

// A Referent is the object that a reference is about.
type Referent struct {
	// GroupKind of the referent. The group is empty if the reader cannot tell.
	GroupKind schema.GroupKind

	// Namespace of the referent. Empty if it is cluster-scoped.
	Namespace string

	// Name of the referent. Empty if a selector matches nothing.
	Name string
}

// String returns the kind and the name of the referent, as an error shows it.
func (r Referent) String() string {
	kind := strings.Trim(shown(r.GroupKind.Kind), `"`)

	switch {
	case r.Name == "" && r.Namespace == "":
		return kind
	case r.Name == "":
		return kind + " in namespace " + shown(r.Namespace)
	case r.Namespace == "":
		return kind + " " + shown(r.Name)
	default:
		return kind + " " + shown(r.Namespace+"/"+r.Name)
	}
}

// A Reason says why a reference is not resolved.
type Reason string

// Why a reference waits.
const (
	// ReasonNotFound: the referent does not exist.
	ReasonNotFound Reason = "ReferentNotFound"

	// ReasonDeleting: the referent is being deleted.
	ReasonDeleting Reason = "ReferentDeleting"

	// ReasonNoValue: the external name, or the field, of the referent is empty.
	ReasonNoValue Reason = "ReferentNotReady"

	// ReasonNoMatch: the selector matches nothing.
	ReasonNoMatch Reason = "NothingSelected"
)

// Why a reference is refused.
const (
	// ReasonNotGranted: the referent is in another namespace, where it does not
	// exist or does not allow the reference. Which of the two is not told.
	ReasonNotGranted Reason = "ReferenceNotGranted"

	// ReasonSelf: the object refers to itself.
	ReasonSelf Reason = "SelfReference"

	// ReasonCycle: the referent waits for the object, directly or by others.
	ReasonCycle Reason = "CircularReference"

	// ReasonMalformed: the reference, or the selector, cannot be about anything.
	ReasonMalformed Reason = "MalformedReference"
)

// A WaitingError says that a reference is not resolved yet. Nobody has to do
// anything about the referring object: it can go on when the referent changes.
// Its text has at most 1024 bytes and nothing of the referent but its name.
type WaitingError struct {
	// Referent that is waited for. It has no name if a selector matches nothing.
	Referent Referent

	// Reason is one of those why a reference waits.
	Reason Reason

	from Referent
}

// Error says what is waited for, and why.
func (e *WaitingError) Error() string {
	switch e.Reason {
	case ReasonNotFound:
		return bounded(fmt.Sprintf("waiting for %s: it does not exist", e.Referent))
	case ReasonDeleting:
		return bounded(fmt.Sprintf("waiting for %s: it is being deleted", e.Referent))
	case ReasonNoMatch:
		return bounded(fmt.Sprintf("waiting for a %s: none matches the selector%s", e.Referent, e.ifGranted()))
	default:
		return bounded(fmt.Sprintf("waiting for %s: its external name, or the field that is referred to, is still empty", e.Referent))
	}
}

func (e *WaitingError) ifGranted() string {
	if !crosses(e.from, e.Referent.Namespace) {
		return ""
	}

	return " and has the annotation " + grantFor(e.from)
}

// A RefusedError says that a reference cannot be resolved as it is: the
// referring object or its referent has to be changed by whoever owns it. Its
// text has at most 1024 bytes and nothing of other objects but their names.
type RefusedError struct {
	// Referent that is refused.
	Referent Referent

	// Reason is one of those why a reference is refused.
	Reason Reason

	// Cycle begins with the referring object, goes on with its referent, and ends
	// before the referring object comes again. It is nil for other reasons.
	Cycle []Referent

	from   Referent
	detail string
}

// Error says what is wrong, and what to do about it.
func (e *RefusedError) Error() string {
	switch e.Reason {
	case ReasonNotGranted:
		return bounded(fmt.Sprintf("cannot refer to %s from %s: it does not exist, or it does not have the annotation %s",
			e.Referent, whence(e.from), grantFor(e.from)))
	case ReasonSelf:
		return bounded(fmt.Sprintf("%s refers to itself", e.Referent))
	case ReasonCycle:
		return bounded("circular reference: " + circle(e.Cycle) + "; give one of them the value instead of the reference")
	default:
		return bounded(fmt.Sprintf("malformed reference to %s: %s", e.Referent, e.detail))
	}
}

// circle names the members of a cycle one after the other.
func circle(members []Referent) string {
	if len(members) == 0 {
		return "unknown"
	}

	var b strings.Builder

	named := members[:min(len(members), maxMembers)]
	for _, m := range named {
		fmt.Fprintf(&b, "%s waits for ", m)
	}
	if more := len(members) - len(named); more > 0 {
		fmt.Fprintf(&b, "%d others, and the last of them for ", more)
	}
	b.WriteString(members[0].String())

	return b.String()
}

// whence says where a reference comes from.
func whence(from Referent) string {
	if from.Namespace == "" {
		return "a cluster-scoped object"
	}

	return "namespace " + shown(from.Namespace)
}

// grantFor says which annotation the referent needs.
func grantFor(from Referent) string {
	if from.Namespace == "" {
		return meta.AnnotationKeyAllowReferencesFrom + `: "*"`
	}

	return meta.AnnotationKeyAllowReferencesFrom + ": " + shown(from.Namespace)
}

// shown quotes what a user wrote, which can be long and hold anything.
func shown(v string) string {
	if len(v) > 2*maxPart+1 {
		v = strings.ToValidUTF8(v[:2*maxPart+1], "") + "…"
	}

	return fmt.Sprintf("%q", v)
}

// bounded cuts a text that is too long.
func bounded(text string) string {
	const mark = "…"

	text = strings.ToValidUTF8(text, "")
	if len(text) <= maxText {
		return text
	}

	end := maxText - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}

	return text[:end] + mark
}

// IsWaiting reports whether err is or wraps a WaitingError.
func IsWaiting(err error) bool {
	_, ok := AsWaiting(err)

	return ok
}

// AsWaiting returns the referent that is waited for, if err is or wraps a
// WaitingError. Of several it is the first.
func AsWaiting(err error) (Referent, bool) {
	var w *WaitingError
	if !errors.As(err, &w) {
		return Referent{}, false
	}

	return w.Referent, true
}

// IsRefused reports whether err is or wraps a RefusedError.
func IsRefused(err error) bool {
	_, ok := AsRefused(err)

	return ok
}

// AsRefused returns the referent that is refused, if err is or wraps a
// RefusedError. Of several it is the first.
func AsRefused(err error) (Referent, bool) {
	var r *RefusedError
	if !errors.As(err, &r) {
		return Referent{}, false
	}

	return r.Referent, true
}

// ReasonOf returns why the reference is not resolved, if err is or wraps a
// WaitingError or a RefusedError, and nothing otherwise.
func ReasonOf(err error) Reason {
	var w *WaitingError
	if errors.As(err, &w) {
		return w.Reason
	}

	var r *RefusedError
	if errors.As(err, &r) {
		return r.Reason
	}

	return ""
}
