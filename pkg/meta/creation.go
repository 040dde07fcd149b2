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

	// AnnotationKeyBackendIdentity tells in which external system the resource
	// is, as the client named it when it was created or adopted.
	AnnotationKeyBackendIdentity = "moorage.dev/backend-identity"

	// AnnotationKeyOperation is the handle of what the external system has begun
	// for the object and not ended, as the client named it.
	AnnotationKeyOperation = "moorage.dev/operation"

	// AnnotationKeyLateInitialized names the fields that were filled in from the
	// external resource: who unsets one of them again wins.
	AnnotationKeyLateInitialized = "moorage.dev/late-initialized"

	// AnnotationKeyAllowBackendChange is written by a user: the object may go
	// on in the external system of this identity.
	AnnotationKeyAllowBackendChange = "moorage.dev/allow-backend-change"

	// AnnotationKeyAbandonAttempt is written by a user: the attempt of this id
	// need not be resolved, the resource it may have created is given up.
	AnnotationKeyAbandonAttempt = "moorage.dev/abandon-attempt"

	// AnnotationKeyAllowRecreation is written by a user: what the creation of
	// this id made is gone, and may be created again.
	AnnotationKeyAllowRecreation = "moorage.dev/allow-recreation"

	// AnnotationKeyRestoredFrom is written by a user: the object is restored from a
	// backup, and takes its external resource over from the object before it. The value
	// is the stamp of that one, as the external resource bears it, or the UID of the
	// cluster that it was in.
	AnnotationKeyRestoredFrom = "moorage.dev/restored-from"

	// AnnotationKeyRestored is the UID of the object that has taken its external
	// resource over after a restore: AnnotationKeyRestoredFrom has had its effect.
	AnnotationKeyRestored = "moorage.dev/restored"

	// AnnotationKeyRestoredOwner is the UID of the object, a slash, and the UID of the
	// object before it whose external resource it was allowed to take over after a
	// restore: the connection Secret of that one is its own, too.
	AnnotationKeyRestoredOwner = "moorage.dev/restored-owner"

	// AnnotationKeyWasUnresolved says that the user of the object was asked once what is
	// to become of a creation: his answer, which takes the record of that away, leaves it,
	// and a replace of the object does not. It stays. Behind a slash it has the time of the
	// creation in question, unless an earlier release wrote it: what another runtime has
	// created later is not answered.
	AnnotationKeyWasUnresolved = "moorage.dev/was-unresolved"

	// AnnotationKeyCreationDetails is "pending" from before a Create that may tell connection
	// details which nobody can ask for again until they are published, and
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
	value := o.GetAnnotations()[key]
	if value == "" { // which costs more to find out by parsing it than a time does
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}
	}

	return t
}

// The first and the last time that RFC 3339 can write. A mark beyond them, which
// somebody put there or a clock made, would be written as what nobody can read.
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
