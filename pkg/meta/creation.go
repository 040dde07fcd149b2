package meta

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations in which the runtime records the progress of the creation of the external resource. A time has the
// format RFC 3339, in UTC, to the second.
const (
	// AnnotationKeyExternalName is the name of the resource in the external system. It links the object and the
	// resource, and must never be lost.
	AnnotationKeyExternalName = "krateo.io/external-name"

	// AnnotationKeyExternalCreatePending is the time of the last creation attempt. It is written before Create is
	// called.
	AnnotationKeyExternalCreatePending = "krateo.io/external-create-pending"

	// AnnotationKeyExternalCreateSucceeded is when a creation last succeeded.
	AnnotationKeyExternalCreateSucceeded = "krateo.io/external-create-succeeded"

	// AnnotationKeyExternalCreateFailed is when a creation last failed.
	AnnotationKeyExternalCreateFailed = "krateo.io/external-create-failed"

	// AnnotationKeyCreateAttempt is the ID of the attempt to which AnnotationKeyExternalCreatePending belongs. It is the
	// idempotency token if the external system supports one.
	AnnotationKeyCreateAttempt = "moorage.dev/create-attempt"

	// AnnotationKeyBackendIdentity identifies the external system that has the resource. The client returned it when the
	// object created or adopted the resource.
	AnnotationKeyBackendIdentity = "moorage.dev/backend-identity"

	// AnnotationKeyOperation is the handle of an operation that is in progress in the external system for the object. The
	// client chose the handle.
	AnnotationKeyOperation = "moorage.dev/operation"

	// AnnotationKeyLateInitialized names the fields of the spec that were set from the external resource. If a user unsets
	// one of these fields, the field stays unset.
	AnnotationKeyLateInitialized = "moorage.dev/late-initialized"

	// AnnotationKeyAllowBackendChange is set by a user. The value is the identity of an external system that the object
	// may use from now on.
	AnnotationKeyAllowBackendChange = "moorage.dev/allow-backend-change"

	// AnnotationKeyAbandonAttempt is set by a user. The value is the ID of a creation attempt that need not be resolved. A
	// resource that the attempt may have created stays without an object.
	AnnotationKeyAbandonAttempt = "moorage.dev/abandon-attempt"

	// AnnotationKeyAllowRecreation is set by a user. The resource that the creation with this ID made is gone, and may
	// be created again.
	AnnotationKeyAllowRecreation = "moorage.dev/allow-recreation"

	// AnnotationKeyRestoredFrom is set by a user. The object was restored from a backup, and adopts the external
	// resource of the original object. The value is the owner stamp of the original object, as the external resource has
	// it, or the UID of the original cluster.
	AnnotationKeyRestoredFrom = "moorage.dev/restored-from"

	// AnnotationKeyRestored is the UID of the object that has adopted its external resource after a restore. It shows
	// that AnnotationKeyRestoredFrom has had its effect.
	AnnotationKeyRestored = "moorage.dev/restored"

	// AnnotationKeyRestoredOwner is the UID of the object, a slash, and the UID of the original object from before a
	// restore. The object was allowed to adopt the external resource of the original object. The connection Secret of
	// the original object also belongs to the object.
	AnnotationKeyRestoredOwner = "moorage.dev/restored-owner"

	// AnnotationKeyWasUnresolved records that the user was asked about a creation whose result is unknown. The user
	// answers by removing the record of the creation. The answer does not remove this annotation. A replace of the object
	// removes both the record and this annotation. The runtime never removes it.
	//
	// After a slash the value has the time of the creation, unless an earlier release wrote it. The answer does not apply
	// to a resource that another runtime has created after that time.
	AnnotationKeyWasUnresolved = "moorage.dev/was-unresolved"

	// AnnotationKeyCreationDetails is the state of connection details that only the response to Create has. The value is
	// "pending" from before Create until the details are published. The value is "lost" if the process ended before the
	// details were published. A user then removes the annotation.
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

// GetExternalCreatePending returns the time of the last creation attempt. The time is zero if the annotation is
// missing or malformed.
func GetExternalCreatePending(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreatePending)
}

// SetExternalCreatePending records that a creation is about to begin at t. The time is truncated to the second.
func SetExternalCreatePending(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreatePending, t)
}

// GetExternalCreateSucceeded returns when a creation last succeeded. The time is zero if the annotation is missing or
// malformed.
func GetExternalCreateSucceeded(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreateSucceeded)
}

// SetExternalCreateSucceeded records that a creation succeeded at t. The time is truncated to the second.
func SetExternalCreateSucceeded(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreateSucceeded, t)
}

// GetExternalCreateFailed returns when a creation last failed. The time is zero if the annotation is missing or
// malformed.
func GetExternalCreateFailed(o metav1.Object) time.Time {
	return instant(o, AnnotationKeyExternalCreateFailed)
}

// SetExternalCreateFailed records that a creation failed at t. The time is truncated to the second.
func SetExternalCreateFailed(o metav1.Object, t time.Time) {
	setInstant(o, AnnotationKeyExternalCreateFailed, t)
}

// ExternalCreateIncomplete reports whether a creation has begun and its result is unknown. That is the case if the
// pending time is later than both the succeeded time and the failed time. The times have a resolution of one second.
// So if a creation begins within a second of the last result, its pending time must be set to a later second.
func ExternalCreateIncomplete(o metav1.Object) bool {
	pending := GetExternalCreatePending(o)

	return pending.After(GetExternalCreateSucceeded(o)) && pending.After(GetExternalCreateFailed(o))
}

// ExternalCreateSucceededDuring reports whether the last creation succeeded less than d ago by the local clock. It
// also returns true if the recorded time is in the future.
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
