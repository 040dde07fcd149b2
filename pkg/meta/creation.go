package meta

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations in which the runtime remembers how far the creation of the
// external resource got. Times are RFC 3339 in UTC, to the second.
const (
	// AnnotationKeyExternalName is the name that the external system knows the
	// resource by. It is the one link between object and resource that must
	// never be lost.
	AnnotationKeyExternalName = "krateo.io/external-name"

	// AnnotationKeyExternalCreatePending is when a creation was last about to
	// begin. It is written before the external system is called.
	AnnotationKeyExternalCreatePending = "krateo.io/external-create-pending"

	// AnnotationKeyExternalCreateSucceeded is when a creation last succeeded.
	AnnotationKeyExternalCreateSucceeded = "krateo.io/external-create-succeeded"

	// AnnotationKeyExternalCreateFailed is when a creation last failed.
	AnnotationKeyExternalCreateFailed = "krateo.io/external-create-failed"

	// AnnotationKeyCreateAttempt identifies the attempt that the pending mark
	// belongs to. It serves as idempotency token where the external system
	// takes one.
	AnnotationKeyCreateAttempt = "moorage.dev/create-attempt"

	// AnnotationKeyAbandonAttempt is written by a user: the attempt of this id
	// need not be resolved, the resource it may have created is given up.
	AnnotationKeyAbandonAttempt = "moorage.dev/abandon-attempt"
)

// GetExternalName returns the name of the external resource, or "" if none is
// known yet.
func GetExternalName(o metav1.Object) string {
	return o.GetAnnotations()[AnnotationKeyExternalName]
}

// SetExternalName sets the name of the external resource.
func SetExternalName(o metav1.Object, name string) {
	AddAnnotations(o, map[string]string{AnnotationKeyExternalName: name})
}

// GetExternalCreatePending returns when a creation was last about to begin. The
// time is zero if there is no such mark or if it cannot be read.
func GetExternalCreatePending(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreatePending)
}

// SetExternalCreatePending notes that a creation is about to begin at t. What is
// below a second is cut off.
func SetExternalCreatePending(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreatePending, t)
}

// GetExternalCreateSucceeded returns when a creation last succeeded. The time
// is zero if there is no such mark or if it cannot be read.
func GetExternalCreateSucceeded(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreateSucceeded)
}

// SetExternalCreateSucceeded notes that a creation succeeded at t. What is below
// a second is cut off.
func SetExternalCreateSucceeded(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreateSucceeded, t)
}

// GetExternalCreateFailed returns when a creation last failed. The time is zero
// if there is no such mark or if it cannot be read.
func GetExternalCreateFailed(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreateFailed)
}

// SetExternalCreateFailed notes that a creation failed at t. What is below a
// second is cut off.
func SetExternalCreateFailed(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreateFailed, t)
}

// ExternalCreateIncomplete reports whether a creation began whose end is not
// known: the pending mark is later than both the succeeded and the failed mark.
// Marks have a resolution of one second, so whoever begins a creation within a
// second of the last end has to stamp it later than that end.
func ExternalCreateIncomplete(o metav1.Object) bool {
	pending := GetExternalCreatePending(o)

	return pending.After(GetExternalCreateSucceeded(o)) && pending.After(GetExternalCreateFailed(o))
}

// ExternalCreateSucceededDuring reports whether the last successful creation is
// less than d ago by this machine's clock, or in its future.
func ExternalCreateSucceededDuring(o metav1.Object, d time.Duration) bool {
	t := GetExternalCreateSucceeded(o)

	return !t.IsZero() && time.Since(t) < d
}

func instant(o metav1.Object, key string) time.Time {
	t, err := time.Parse(time.RFC3339, o.GetAnnotations()[key])
	if err != nil {
		return time.Time{}
	}

	return t
}

func setInstant(o metav1.Object, key string, t time.Time) {
	AddAnnotations(o, map[string]string{key: t.UTC().Format(time.RFC3339)})
}
