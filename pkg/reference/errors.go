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
	// maxNameLength is the maximum length of a name in an error. It equals the maximum length of a valid name.
	maxNameLength = 253

	// maxErrorLength is the maximum length of the text of an error in bytes.
	maxErrorLength = 1024

	// maxCycleMembers is the maximum number of members of a cycle in an error.
	maxCycleMembers = 4
)

// A Referent is the object that a reference refers to.
type Referent struct {
	// GroupKind of the referent. The group is empty if the kind is not registered in the scheme of the reader.
	GroupKind schema.GroupKind

	// Namespace of the referent. It is empty if the referent is cluster-scoped.
	Namespace string

	// Name of the referent. It is empty if a selector matches nothing.
	Name string
}

// String returns the kind and the name of the referent, as an error shows it.
func (r Referent) String() string {
	kind := strings.Trim(quote(r.GroupKind.Kind), `"`)

	switch {
	case r.Name == "" && r.Namespace == "":
		return kind
	case r.Name == "":
		return kind + " in namespace " + quote(r.Namespace)
	case r.Namespace == "":
		return kind + " " + quote(r.Name)
	default:
		return kind + " " + quote(r.Namespace+"/"+r.Name)
	}
}

// A Reason is the reason why a reference is not resolved.
type Reason string

// Reasons why a reference waits.
const (
	// ReasonNotFound: the referent does not exist.
	ReasonNotFound Reason = "ReferentNotFound"

	// ReasonDeleting: the referent is being deleted.
	ReasonDeleting Reason = "ReferentDeleting"

	// ReasonNoValue: the external name of the referent, or the referenced field, is empty.
	ReasonNoValue Reason = "ReferentNotReady"

	// ReasonNotReady: the condition Ready of the referent is not True, and the request has WaitForReady.
	ReasonNotReady Reason = "ReferentConditionNotReady"

	// ReasonNoMatch: the selector matches nothing.
	ReasonNoMatch Reason = "NothingSelected"
)

// Reasons why a reference is refused.
const (
	// ReasonNotGranted: the referent is in another namespace. Either the referent does not exist there, or it does not
	// allow the reference. The error does not distinguish these two cases.
	ReasonNotGranted Reason = "ReferenceNotGranted"

	// ReasonSelf: the object refers to itself.
	ReasonSelf Reason = "SelfReference"

	// ReasonCycle: the referent waits for the object, directly or indirectly.
	ReasonCycle Reason = "CircularReference"

	// ReasonMalformed: the reference, or the selector, is not valid.
	ReasonMalformed Reason = "MalformedReference"
)

// A WaitingError means that a reference is not resolved yet. The referring object need not be changed: it is reconciled
// again when the referent changes. The text of the error has at most 1024 bytes. The only data of the referent in this
// text is the name of the referent.
type WaitingError struct {
	// Referent is the object for which the referring object waits. Referent has no name if a selector matches nothing.
	Referent Referent

	// Reason is the reason why the reference is not resolved yet.
	Reason Reason

	// Expected is true if the request has WaitForReady. Then the wait is not a failure, see IsExpected.
	Expected bool

	from Referent
}

// Error returns a text with the referent and the reason.
func (e *WaitingError) Error() string {
	switch e.Reason {
	case ReasonNotFound:
		return truncate(fmt.Sprintf("waiting for %s: it does not exist", e.Referent))
	case ReasonDeleting:
		return truncate(fmt.Sprintf("waiting for %s: it is being deleted", e.Referent))
	case ReasonNotReady:
		return truncate(fmt.Sprintf("waiting for %s: its condition Ready is not True yet", e.Referent))
	case ReasonNoMatch:
		return truncate(fmt.Sprintf("waiting for a %s: none matches the selector%s", e.Referent, e.grantHint()))
	default:
		return truncate(fmt.Sprintf(
			"waiting for %s: its external name, or the field that is referred to, is still empty", e.Referent))
	}
}

// grantHint returns the annotation that a referent in another namespace needs, or "" if none is needed.
func (e *WaitingError) grantHint() string {
	if !isCrossNamespace(e.from, e.Referent.Namespace) {
		return ""
	}

	return " and has the annotation " + requiredGrant(e.from)
}

// A RefusedError means that a reference cannot be resolved until a user changes the referring object or its referent.
// The text of the error has at most 1024 bytes. The only data of other objects in this text are their names.
type RefusedError struct {
	// Referent is the object to which the refused reference refers.
	Referent Referent

	// Reason is the reason why the reference is refused.
	Reason Reason

	// Cycle contains each member of the cycle once if the reason is ReasonCycle. Cycle starts with the referring object
	// and its referent. For other reasons Cycle is nil.
	Cycle []Referent

	from   Referent
	detail string
}

// Error returns a text with the problem and the way to fix it.
func (e *RefusedError) Error() string {
	switch e.Reason {
	case ReasonNotGranted:
		return truncate(fmt.Sprintf("cannot refer to %s from %s: it does not exist, or it does not have the annotation %s",
			e.Referent, describeOrigin(e.from), requiredGrant(e.from)))
	case ReasonSelf:
		return truncate(fmt.Sprintf("%s refers to itself", e.Referent))
	case ReasonCycle:
		return truncate("circular reference: " + formatCycle(e.Cycle) +
			"; give one of them the value instead of the reference")
	default:
		return truncate(fmt.Sprintf("malformed reference to %s: %s", e.Referent, e.detail))
	}
}

// formatCycle lists the members of a cycle in order.
func formatCycle(members []Referent) string {
	if len(members) == 0 {
		return "unknown"
	}

	var b strings.Builder

	named := members[:min(len(members), maxCycleMembers)]
	for _, m := range named {
		fmt.Fprintf(&b, "%s waits for ", m)
	}
	if more := len(members) - len(named); more > 0 {
		fmt.Fprintf(&b, "%d others, and the last of them for ", more)
	}
	b.WriteString(members[0].String())

	return b.String()
}

// describeOrigin describes where a reference comes from.
func describeOrigin(from Referent) string {
	if from.Namespace == "" {
		return "a cluster-scoped object"
	}

	return "namespace " + quote(from.Namespace)
}

// requiredGrant returns the annotation that the referent needs.
func requiredGrant(from Referent) string {
	if from.Namespace == "" {
		return meta.AnnotationKeyAllowReferencesFrom + `: "*"`
	}

	return meta.AnnotationKeyAllowReferencesFrom + ": " + quote(from.Namespace)
}

// quote quotes a text from a user, which may be long and contain any bytes.
func quote(v string) string {
	if len(v) > 2*maxNameLength+1 {
		v = strings.ToValidUTF8(v[:2*maxNameLength+1], "") + "…"
	}

	return fmt.Sprintf("%q", v)
}

// truncate shortens a text that is too long.
func truncate(text string) string {
	const mark = "…"

	text = strings.ToValidUTF8(text, "")
	if len(text) <= maxErrorLength {
		return text
	}

	end := maxErrorLength - len(mark)
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

// AsWaiting returns the referent of a WaitingError. It returns false if err neither is nor wraps a WaitingError. If err
// wraps several WaitingErrors, AsWaiting returns the referent of the first.
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

// AsRefused returns the referent of a RefusedError. It returns false if err neither is nor wraps a RefusedError. If err
// wraps several RefusedErrors, AsRefused returns the referent of the first.
func AsRefused(err error) (Referent, bool) {
	var r *RefusedError
	if !errors.As(err, &r) {
		return Referent{}, false
	}

	return r.Referent, true
}

// ReasonOf returns the reason of a WaitingError or a RefusedError. If err neither is nor wraps such an error, ReasonOf
// returns "".
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
