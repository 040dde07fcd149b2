package sim

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// This file reads objects as the pages in docs describe them (docs/lifecycle.md, "What an object says"). The judges and
// the users of the scenarios use this file. The runtime uses pkg/meta. The two thus do not share errors.

// Annotations that users write.
const (
	keyPaused              = "krateo.io/paused"
	keyManagementPolicy    = "krateo.io/management-policy"
	keyDeletionPolicy      = "krateo.io/deletion-policy"
	keyAdoptionPolicy      = "moorage.dev/adoption-policy"
	keyPollInterval        = "moorage.dev/poll-interval"
	keyAllowReferencesFrom = "moorage.dev/allow-references-from"
	keyAllowBackendChange  = "moorage.dev/allow-backend-change"
	keyAbandonAttempt      = "moorage.dev/abandon-attempt"
)

// createdRecords returns whether the condition Created of an object is about a creation. The record of the creation or
// the id of its attempt identifies it.
func createdRecords(o any, creation string) bool {
	return strings.HasPrefix(conditionOf(o, "Created").Message, creation)
}

// Annotations that the runtime writes. Users may also write the external name.
const (
	keyExternalName    = "krateo.io/external-name"
	keyPending         = "krateo.io/external-create-pending"
	keySucceeded       = "krateo.io/external-create-succeeded"
	keyFailed          = "krateo.io/external-create-failed"
	keyCreateAttempt   = "moorage.dev/create-attempt"
	keyBackendIdentity = "moorage.dev/backend-identity"
	keyLateInitialized = "moorage.dev/late-initialized"
	keyOperation       = "moorage.dev/operation"
	keyWasUnresolved   = "moorage.dev/was-unresolved"
	keyCreationDetails = "moorage.dev/creation-details"
)

// bookkeeping has the annotations that the provider may change and remove.
var bookkeeping = map[string]bool{
	keyExternalName: true, keyPending: true, keySucceeded: true, keyFailed: true, keyCreateAttempt: true,
	keyBackendIdentity: true, keyLateInitialized: true, keyOperation: true, keyWasUnresolved: true,
	keyCreationDetails: true,
}

// An action is something that a policy allows or forbids.
type action string

// allows returns whether the policies of an object allow an action. With an unknown value of any policy, no action is
// allowed.
func allows(o metav1.Object, a action) bool {
	for key, values := range policyValues {
		value := o.GetAnnotations()[key]
		forbids, known := values[value]
		if value != "" && !known || slices.Contains(forbids, a) {
			return false
		}
	}

	return true
}

const (
	toCreate action = "Create"
	toUpdate action = "Update"
	toDelete action = "Delete"
)

// policyValues has the values of the policy annotations, and the actions that each of them forbids. A missing or empty
// annotation forbids nothing.
var policyValues = map[string]map[string][]action{
	keyManagementPolicy: {
		"default": nil, "observe-create-update": {toDelete}, "observe-delete": {toCreate, toUpdate},
		"observe": {toCreate, toUpdate, toDelete},
	},
	keyDeletionPolicy: {"delete": nil, "orphan": {toDelete}},
	keyAdoptionPolicy: {"never": nil, "if-unowned": nil, "if-matching": nil, "force": nil},
}

// isPaused returns whether the provider must not reconcile an object.
func isPaused(o metav1.Object) bool {
	ours := o.GetAnnotations()[keyPaused]

	return ours == "true" || ours == "" && o.GetAnnotations()[theirPaused] == "true"
}

// isDeleted returns whether an object is being deleted.
func isDeleted(o metav1.Object) bool {
	at := o.GetDeletionTimestamp()

	return at != nil && !at.Time.IsZero()
}

// The finalizer of the runtime, and another finalizer with which an object may be created.
const (
	ourFinalizer       = "finalizer.managedresource.krateo.io"
	unclaimedFinalizer = "moorage.dev/unclaimed"
)

// isHeld returns whether an object has the finalizer of the runtime.
func isHeld(o metav1.Object) bool { return slices.Contains(o.GetFinalizers(), ourFinalizer) }

// externalName returns the external name of an object, or nothing.
func externalName(o metav1.Object) string { return o.GetAnnotations()[keyExternalName] }

// attemptOf returns the id of the last attempt of an object, or nothing.
func attemptOf(o metav1.Object) string {
	id, _, _ := strings.Cut(recordOf(o), "/")

	return id
}

// attempting returns whether the last attempt of an object has no stored result.
func attempting(o metav1.Object) bool {
	record := recordOf(o)

	return record != "" && !strings.Contains(record, "/")
}

// recordOf returns the value of the annotation of the last attempt of an object: its id and its result, or nothing.
func recordOf(o metav1.Object) string { return o.GetAnnotations()[keyCreateAttempt] }

// isPending returns whether an object records that a creation has begun.
func isPending(o metav1.Object) bool { return !markedAt(o, keyPending).IsZero() }

// markedAt returns the time of an annotation of an object, or the zero time if there is none, or if it cannot be
// parsed.
func markedAt(o metav1.Object, key string) time.Time {
	value := o.GetAnnotations()[key]
	if value == "" { // which costs more to find out by parsing it than a time does
		return time.Time{}
	}
	at, err := time.Parse("2006-01-02T15:04:05Z07:00", value)
	if err != nil {
		return time.Time{}
	}

	return at
}

// ourTypes has the types of the conditions that the runtime writes; all others belong to other controllers.
var ourTypes = map[commonv1.ConditionType]bool{"Ready": true, "Synced": true, "UpToDate": true, "Created": true,
	"Reconciling": true, "Stalled": true}

// createdNames returns whether the condition Created is about a creation, or an adoption, under an external name.
func createdNames(o any, name string) bool {
	return strings.HasSuffix(conditionOf(o, "Created").Message, strconv.Quote(name))
}

// conditionOf returns the condition of a type of an object.
func conditionOf(o any, t commonv1.ConditionType) commonv1.Condition { return conditionsOf(o).of(t) }

// A conditions has the conditions of an object, at most one of each type.
type conditions []commonv1.Condition

// conditionsOf returns the conditions of an object of any kind: status.conditions.
func conditionsOf(o any) (all conditions) {
	if b, err := bucketOf(asManaged(o)); err == nil {
		return b.Status.Conditions
	}
	fromStatus(o, "conditions", &all)

	return all
}

// of returns the condition of a type. If there is none, its status is Unknown.
func (cs conditions) of(t commonv1.ConditionType) commonv1.Condition {
	for _, c := range cs {
		if c.Type == t {
			return c
		}
	}

	return commonv1.Condition{Type: t, Status: "Unknown"}
}

// unchanged returns whether two conditions differ at most in their transition time.
func unchanged(was, is commonv1.Condition) bool {
	was.LastTransitionTime, is.LastTransitionTime = metav1.Time{}, metav1.Time{}

	return was == is
}

// statusOf returns the conditions of a Bucket or Replica. For other kinds it returns nothing, because a client may own
// their conditions.
func statusOf(o any) conditions {
	if b, err := bucketOf(asManaged(o)); err == nil {
		return b.Status.Conditions
	}

	return nil
}

// observedGeneration returns status.observedGeneration of an object, and whether its kind has that field.
func observedGeneration(o any) (generation int64, tells bool) {
	if b, err := bucketOf(asManaged(o)); err == nil {
		return b.Status.ObservedGeneration, true
	}
	if _, tells = o.(resource.GenerationObserver); tells {
		fromStatus(o, "observedGeneration", &generation)
	}

	return generation, tells
}

// showsDrift returns whether the status of an object has differences: status.drift.
func showsDrift(o any) (shows bool) {
	if b, err := bucketOf(asManaged(o)); err == nil {
		return b.Status.Drift != nil
	}
	if _, tells := o.(resource.DriftReporter); tells {
		var drift map[string]any
		fromStatus(o, "drift", &drift)
		shows = len(drift) > 0
	}

	return shows
}

// differencesOf returns the differences in the status of an object: status.drift.fields.
func differencesOf(o any) []commonv1.Difference {
	if b, err := bucketOf(asManaged(o)); err == nil && b.Status.Drift != nil {
		return b.Status.Drift.Fields
	}
	var drift commonv1.Drift
	fromStatus(o, "drift", &drift)

	return drift.Fields
}

// fromStatus reads a field of the status of an object of any kind, as the API server stores it. If the field is
// missing, the target does not change.
func fromStatus(o any, field string, to any) {
	var image struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	data, err := json.Marshal(o)
	if err == nil && json.Unmarshal(data, &image) == nil && image.Status[field] != nil {
		_ = json.Unmarshal(image.Status[field], to) // what is no such field says nothing
	}
}
