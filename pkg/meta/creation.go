package meta

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations in which the runtime records the progress of the creation of the
// external resource. Times are RFC 3339 in UTC, to the second.
const (
	// AnnotationKeyExternalName is the name of the resource in the external
	// system. It is the link between object and resource, and must never be
	// lost.
	AnnotationKeyExternalName = "krateo.io/external-name"

	// AnnotationKeyExternalCreatePending is the time of the last creation
	// attempt. It is written before the external system is called.
	AnnotationKeyExternalCreatePending = "krateo.io/external-create-pending"

	// AnnotationKeyExternalCreateSucceeded is when a creation last succeeded.
	AnnotationKeyExternalCreateSucceeded = "krateo.io/external-create-succeeded"

	// AnnotationKeyExternalCreateFailed is when a creation last failed.
	AnnotationKeyExternalCreateFailed = "krateo.io/external-create-failed"

	// AnnotationKeyCreateAttempt identifies the attempt of the pending mark.
	// It is the idempotency token if the external system supports one.
	AnnotationKeyCreateAttempt = "moorage.dev/create-attempt"

	// AnnotationKeyBackendIdentity identifies the external system that has the
	// resource, as the client named it when the resource was created or adopted.
	AnnotationKeyBackendIdentity = "moorage.dev/backend-identity"

	// AnnotationKeyOperation is the client's handle of an operation that is in
	// progress in the external system for the object.
	AnnotationKeyOperation = "moorage.dev/operation"

	// AnnotationKeyLateInitialized names the fields that were set from the
	// external resource: if a user unsets one of them, it stays unset.
	AnnotationKeyLateInitialized = "moorage.dev/late-initialized"

	// AnnotationKeyAllowBackendChange is written by a user: the object may use
	// the external system of this identity from now on.
	AnnotationKeyAllowBackendChange = "moorage.dev/allow-backend-change"

	// AnnotationKeyAbandonAttempt is written by a user: the attempt with this ID
	// need not be resolved, and a resource that it may have created is abandoned.
	AnnotationKeyAbandonAttempt = "moorage.dev/abandon-attempt"

	// AnnotationKeyAllowRecreation is written by a user: the resource of the
	// creation with this ID is gone, and may be created again.
	AnnotationKeyAllowRecreation = "moorage.dev/allow-recreation"

	// AnnotationKeyRestoredFrom is written by a user: the object is restored from a
	// backup, and adopts the external resource of the object before it. The value
	// is the owner stamp of that object, as the external resource has it, or the UID of
	// the cluster that it was in.
	AnnotationKeyRestoredFrom = "moorage.dev/restored-from"

	// AnnotationKeyRestored is the UID of the object that has adopted its external
	// resource after a restore: AnnotationKeyRestoredFrom has had its effect.
	AnnotationKeyRestored = "moorage.dev/restored"

	// AnnotationKeyRestoredOwner is the UID of the object, a slash, and the UID of the
	// object before it, whose external resource it was allowed to adopt after a
	// restore: the connection Secret of that object also belongs to this one.
	AnnotationKeyRestoredOwner = "moorage.dev/restored-owner"

	// AnnotationKeyWasUnresolved records that a creation was reported to the user as
	// unresolved. The user's answer removes the record of that creation and keeps this
	// annotation, while a replace of the object removes both. The runtime never removes it. After a
	// slash it has the time of that creation, unless an earlier release wrote it: the answer
	// does not apply to what another runtime has created later.
	AnnotationKeyWasUnresolved = "moorage.dev/was-unresolved"

	// AnnotationKeyCreationDetails is "pending" from before a Create that may return connection
	// details which cannot be read again until they are published, and
	// "lost" if the process ended before that. A user removes the latter.
	AnnotationKeyCreationDetails = "moorage.dev/creation-details"
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

// GetExternalCreatePending returns the time of the last creation attempt. The
// time is zero if there is no such mark or if it is malformed.
func GetExternalCreatePending(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreatePending)
}

// SetExternalCreatePending records that a creation is about to begin at t, which
// is truncated to the second.
func SetExternalCreatePending(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreatePending, t)
}

// GetExternalCreateSucceeded returns when a creation last succeeded. The time
// is zero if there is no such mark or if it is malformed.
func GetExternalCreateSucceeded(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreateSucceeded)
}

// SetExternalCreateSucceeded records that a creation succeeded at t, which is
// truncated to the second.
func SetExternalCreateSucceeded(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreateSucceeded, t)
}

// GetExternalCreateFailed returns when a creation last failed. The time is zero
// if there is no such mark or if it is malformed.
func GetExternalCreateFailed(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreateFailed)
}

// SetExternalCreateFailed records that a creation failed at t, which is truncated
// to the second.
func SetExternalCreateFailed(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreateFailed, t)
}

// ExternalCreateIncomplete reports whether a creation began whose result is not
// known: the pending mark is later than both the succeeded and the failed mark.
// Marks have a resolution of one second, so the pending mark of a creation that
// begins within a second of the last result must be set later than that.
func ExternalCreateIncomplete(o metav1.Object) bool {
	pending := GetExternalCreatePending(o)

	return pending.After(GetExternalCreateSucceeded(o)) && pending.After(GetExternalCreateFailed(o))
}

// ExternalCreateSucceededDuring reports whether the last successful creation was
// less than d ago by the clock of this machine, or is in its future.
func ExternalCreateSucceededDuring(o metav1.Object, d time.Duration) bool {
	t := GetExternalCreateSucceeded(o)

	return !t.IsZero() && time.Since(t) < d
}

func instant(o metav1.Object, key string) time.Time {
	value := o.GetAnnotations()[key]
	if value == "" { // parsing an empty string is slower than parsing a time
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}
	}

	return t
}

// The first and the last time of RFC 3339. A mark beyond them, from a user or a
// wrong clock, would be written in a form that cannot be parsed.
var (
	firstInstant = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
)

func setInstant(o metav1.Object, key string, t time.Time) {
	switch {
	case t.Before(firstInstant):
		t = firstInstant
	case t.After(lastInstant):
		t = lastInstant
	}
	AddAnnotations(o, map[string]string{key: t.UTC().Format(time.RFC3339)})
}
