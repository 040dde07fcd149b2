// Package object reads what a managed resource says about itself: its conditions, its differences, and whether it is
// paused. All texts are safe for a terminal. Start with [Of].
package object

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/reasons"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// An Object is a managed resource as the API server returns it.
type Object struct{ *unstructured.Unstructured }

// Of returns the object of a response.
func Of(u *unstructured.Unstructured) Object { return Object{u} }

// A Condition of the object. The zero value is that of a condition which the object does not have.
type Condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitzero"`
}

// True reports whether the condition holds.
func (c Condition) True() bool { return c.Status == metav1.ConditionTrue }

// False reports whether the condition is known not to hold.
func (c Condition) False() bool { return c.Status == metav1.ConditionFalse }

// A Difference is a field of the external resource that is not as desired.
type Difference struct {
	Path      string `json:"path"`
	Desired   string `json:"desired,omitempty"`  // JSON
	Observed  string `json:"observed,omitempty"` // JSON
	Immutable bool   `json:"immutable,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"` // neither value is shown
}

// A Drift lists differences. More is the number of differences that the object does not list.
type Drift struct {
	Fields []Difference `json:"fields,omitempty"`
	More   int64        `json:"more,omitempty"`
}

// Conditions returns the conditions, first Ready, Synced and UpToDate, then the others in the order of their types.
func (o Object) Conditions() []Condition {
	var out []Condition

	status, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	parts, _ := status.([]any)

	for _, part := range parts {
		if c, ok := conditionOf(part); ok {
			out = append(out, c)
		}
	}

	first := []string{reasons.TypeReady, reasons.TypeSynced, reasons.TypeUpToDate}
	rank := func(c Condition) int {
		if i := slices.Index(first, c.Type); i >= 0 {
			return i
		}

		return len(first)
	}

	slices.SortStableFunc(out, func(a, b Condition) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}

		return strings.Compare(a.Type, b.Type)
	})

	return out
}

// conditionOf reads a condition. It returns false if the part of the status is none. A field of another form counts as
// missing.
func conditionOf(part any) (Condition, bool) {
	fields, _ := part.(map[string]any)
	line := func(name string) string {
		s, _ := fields[name].(string)

		return text.Line(s)
	}

	generation, _ := fields["observedGeneration"].(int64)
	c := Condition{
		Type: line("type"), Status: metav1.ConditionStatus(line("status")), Reason: line("reason"),
		Message: line("message"), ObservedGeneration: generation,
	}

	if at, err := time.Parse(time.RFC3339, line("lastTransitionTime")); err == nil {
		c.LastTransitionTime = metav1.NewTime(at)
	}

	return c, c.Type != ""
}

// Condition returns the condition of the type. It returns false if the object has none.
func (o Object) Condition(kind string) (Condition, bool) {
	for _, c := range o.Conditions() {
		if c.Type == kind {
			return c, true
		}
	}

	return Condition{}, false
}

// Present reports whether a condition is about the present spec of the object. If that is not known, see
// [Object.Dated], it counts as present.
func (o Object) Present(c Condition) bool {
	observed := o.observed(c)

	return observed == 0 || observed >= o.GetGeneration()
}

// Dated reports whether it is known which spec a condition is about. Some providers do not say for which generation
// they set it; then it is known only of an object whose spec has never changed.
func (o Object) Dated(c Condition) bool { return o.observed(c) != 0 || o.GetGeneration() <= 1 }

// observed returns the generation for which a condition was set, or the status as a whole, or 0.
func (o Object) observed(c Condition) int64 {
	if c.ObservedGeneration != 0 {
		return c.ObservedGeneration
	}

	generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")

	return generation
}

// Drift returns the differences that the status lists. The values of sensitive fields are removed.
func (o Object) Drift() Drift {
	var d Drift

	o.decode(&d, "status", "drift")

	Clean(d.Fields)

	return d
}

// Clean removes the values of sensitive fields, and characters that control a terminal.
func Clean(fields []Difference) {
	for i := range fields {
		f := &fields[i]
		if f.Path = text.Line(f.Path); f.Sensitive {
			f.Desired, f.Observed = "", ""
		}

		f.Desired, f.Observed = text.Line(f.Desired), text.Line(f.Observed)
	}
}

// decode reads a part of the object. It ignores a part that is missing or has another form: the kind may be of another
// library.
func (o Object) decode(into any, path ...string) {
	part, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil || !found {
		return
	}

	image, err := json.Marshal(part)
	if err == nil {
		_ = json.Unmarshal(image, into)
	}
}

// Managed reports whether the object looks like a managed resource: it has the conditions Ready and Synced.
func (o Object) Managed() bool {
	_, ready := o.Condition(reasons.TypeReady)
	_, synced := o.Condition(reasons.TypeSynced)

	return ready && synced
}

// Paused returns what pauses the object, or "" if nothing does. The annotation of another runtime counts if the
// provider says so in the condition Synced.
func (o Object) Paused() string {
	list, found, err := unstructured.NestedSlice(o.Object, "spec", "managementPolicies")

	switch ours := o.GetAnnotations()[reasons.AnnotationKeyReconciliationPaused]; {
	case ours == "true":
		return "the annotation " + reasons.AnnotationKeyReconciliationPaused
	case found && err == nil && len(list) == 0:
		return ByPolicies
	case ours == "" && o.OtherPause() != "":
		return "the annotation " + o.OtherPause()
	}

	return ""
}

// PauseConfirmed reports whether the provider says that the object is paused.
func (o Object) PauseConfirmed() bool {
	synced, _ := o.Condition(reasons.TypeSynced)

	return synced.Reason == reasons.ReasonReconcilePaused
}

// ByPolicies is what pauses an object without an annotation.
const ByPolicies = "the empty list spec.managementPolicies"

// OtherPause returns the annotation of another runtime that pauses the object, or "". The provider says in the
// condition Synced whether it heeds that annotation.
func (o Object) OtherPause() string {
	synced, _ := o.Condition(reasons.TypeSynced)
	if synced.Reason != reasons.ReasonReconcilePaused {
		return ""
	}

	for _, name := range o.pauses() {
		if strings.Contains(synced.Message, name) {
			return name
		}
	}

	return ""
}

// MayPause returns an annotation by which another runtime may pause the object, or "". The provider has not said that
// it heeds that annotation.
func (o Object) MayPause() string {
	if names := o.pauses(); len(names) > 0 {
		return names[0]
	}

	return ""
}

// pauses returns the annotations of other runtimes that say that the object is paused, in the order of their names.
func (o Object) pauses() (names []string) {
	for name, value := range o.GetAnnotations() {
		if value == "true" && strings.HasSuffix(name, "/paused") && name != reasons.AnnotationKeyReconciliationPaused {
			names = append(names, name)
		}
	}

	slices.Sort(names)

	return names
}

// Handled returns the request for a reconcile that was handled last, or "".
func (o Object) Handled() string {
	v, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")

	return v
}

// ExternalName returns the name of the external resource, or "".
func (o Object) ExternalName() string {
	return text.Line(o.GetAnnotations()[reasons.AnnotationKeyExternalName])
}

// Deleted returns when the deletion was requested. It returns false if the object is not being deleted.
func (o Object) Deleted() (time.Time, bool) {
	if at := o.GetDeletionTimestamp(); at != nil {
		return at.Time, true
	}

	return time.Time{}, false
}

// Finalizers returns the finalizers of the object.
func (o Object) Finalizers() (out []string) {
	for _, f := range o.GetFinalizers() {
		out = append(out, text.Line(f))
	}

	return out
}

// A Reference names an object in JSON.
type Reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Generation int64  `json:"generation,omitempty"`
}

// Reference returns the name of the object for JSON.
func (o Object) Reference() Reference {
	return Reference{text.Line(o.GetAPIVersion()), text.Line(o.GetKind()), text.Line(o.GetNamespace()),
		text.Line(o.GetName()), o.GetGeneration()}
}

// String returns the object as kubectl takes it, such as stream/orders.
func (o Object) String() string { return text.Line(strings.ToLower(o.GetKind()) + "/" + o.GetName()) }
