package meta

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Annotations with which a user steers what is done with an object. Keys and
// values are case-sensitive, and an empty value is the same as no annotation.
const (
	// AnnotationKeyReconciliationPaused stops all work on the object while its
	// value is "true".
	AnnotationKeyReconciliationPaused = "krateo.io/paused"

	// AnnotationKeyConnectorVerbose asks the provider for a verbose connection
	// while its value is "true". Only the provider reads it.
	AnnotationKeyConnectorVerbose = "krateo.io/connector-verbose"

	// AnnotationKeyManagementPolicy says which actions are allowed: one of the
	// ManagementPolicy values.
	AnnotationKeyManagementPolicy = "krateo.io/management-policy"

	// AnnotationKeyDeletionPolicy says what becomes of the external resource
	// when the object is deleted: one of the DeletionPolicy values.
	AnnotationKeyDeletionPolicy = "krateo.io/deletion-policy"

	// AnnotationKeyAdoptionPolicy says what becomes of an external resource
	// that was there before the object: one of the AdoptionPolicy values.
	AnnotationKeyAdoptionPolicy = "moorage.dev/adoption-policy"

	// AnnotationKeyPollInterval is how long to wait before the external
	// resource is looked at again, as a Go duration such as "90s" or "10m".
	AnnotationKeyPollInterval = "moorage.dev/poll-interval"

	// AnnotationKeyReconcileRequestedAt asks for a pass at once, whenever its
	// value changes. Any value will do; the current time is customary.
	AnnotationKeyReconcileRequestedAt = "moorage.dev/reconcile-requested-at"

	// AnnotationKeyAllowReferencesFrom, on an object that others refer to, names
	// the namespaces besides its own that may: comma-separated, "*" for all.
	AnnotationKeyAllowReferencesFrom = "moorage.dev/allow-references-from"
)

// Values of AnnotationKeyManagementPolicy. The external resource is observed
// under each of them.
const (
	// ManagementPolicyDefault allows everything. It holds if there is none.
	ManagementPolicyDefault = "default"

	// ManagementPolicyObserveCreateUpdate allows all but to delete.
	ManagementPolicyObserveCreateUpdate = "observe-create-update"

	// ManagementPolicyObserveDelete allows to delete, but not to create or
	// update.
	ManagementPolicyObserveDelete = "observe-delete"

	// ManagementPolicyObserve allows to look and nothing else.
	ManagementPolicyObserve = "observe"
)

// Values of AnnotationKeyDeletionPolicy.
const (
	// DeletionPolicyOrphan leaves the external resource where it is.
	DeletionPolicyOrphan = "orphan"

	// DeletionPolicyDelete deletes the external resource. It holds if there is
	// no policy.
	DeletionPolicyDelete = "delete"
)

// Values of AnnotationKeyAdoptionPolicy.
const (
	// AdoptionPolicyNever leaves an existing resource alone. It holds if there
	// is no policy.
	AdoptionPolicyNever = "never"

	// AdoptionPolicyIfUnowned takes over an existing resource that belongs to
	// nobody.
	AdoptionPolicyIfUnowned = "if-unowned"

	// AdoptionPolicyIfMatching takes over an existing resource that belongs to
	// nobody and is as desired already, so that nothing of it changes.
	AdoptionPolicyIfMatching = "if-matching"

	// AdoptionPolicyForce takes over an existing resource, whoever's it is, as far
	// as whoever runs the provider allows it: by default, only what is known to
	// belong to an object of the same namespace, or, for a cluster-scoped object,
	// to one of the same kind and name.
	AdoptionPolicyForce = "force"
)

// Actions that IsActionAllowed knows.
const (
	ActionCreate = "create"
	ActionUpdate = "update"
	ActionDelete = "delete"
)

const maxQuotedValue = 64

// allowedBy lists the actions that each management policy allows.
var allowedBy = map[string][]string{
	"":                                  {ActionCreate, ActionUpdate, ActionDelete},
	ManagementPolicyDefault:             {ActionCreate, ActionUpdate, ActionDelete},
	ManagementPolicyObserveCreateUpdate: {ActionCreate, ActionUpdate},
	ManagementPolicyObserveDelete:       {ActionDelete},
	ManagementPolicyObserve:             {},
}

var adoptionPolicies = []string{AdoptionPolicyNever, AdoptionPolicyIfUnowned, AdoptionPolicyIfMatching,
	AdoptionPolicyForce}

// policies lists the values that each policy annotation may have.
var policies = []struct {
	key    string
	values []string
}{
	{AnnotationKeyManagementPolicy, []string{ManagementPolicyDefault, ManagementPolicyObserveCreateUpdate,
		ManagementPolicyObserveDelete, ManagementPolicyObserve}},
	{AnnotationKeyDeletionPolicy, []string{DeletionPolicyDelete, DeletionPolicyOrphan}},
	{AnnotationKeyAdoptionPolicy, adoptionPolicies},
}

// ValidatePolicies returns an error if a policy annotation has a value that
// nobody knows. It names the key, the value and the values that are allowed, and
// is meant to be shown to the user. While it is not nil, nothing is allowed: a
// misspelt policy must never be taken for permission.
func ValidatePolicies(o metav1.Object) error {
	for _, p := range policies {
		if v := o.GetAnnotations()[p.key]; v != "" && !slices.Contains(p.values, v) {
			return errors.Errorf("annotation %s has the unknown value %s; allowed are %s", p.key, quoted(v),
				strings.Join(p.values, ", "))
		}
	}

	return nil
}

// IsActionAllowed reports whether the object's management policy allows the
// action, one of ActionCreate, ActionUpdate and ActionDelete. The deletion
// policy is another matter: ShouldDelete minds both. Nothing is allowed while
// ValidatePolicies fails.
func IsActionAllowed(o metav1.Object, action string) bool {
	return ValidatePolicies(o) == nil && slices.Contains(allowedBy[o.GetAnnotations()[AnnotationKeyManagementPolicy]], action)
}

// ShouldCreate reports whether the object's policies allow to create the
// external resource.
func ShouldCreate(o metav1.Object) bool { return IsActionAllowed(o, ActionCreate) }

// ShouldUpdate reports whether the object's policies allow to update the
// external resource.
func ShouldUpdate(o metav1.Object) bool { return IsActionAllowed(o, ActionUpdate) }

// ShouldDelete reports whether the object's policies allow to delete the
// external resource. The deletion policy orphan forbids it under every
// management policy.
func ShouldDelete(o metav1.Object) bool {
	return IsActionAllowed(o, ActionDelete) && o.GetAnnotations()[AnnotationKeyDeletionPolicy] != DeletionPolicyOrphan
}

// ShouldOnlyObserve reports whether the object's management policy is to look
// and nothing else.
func ShouldOnlyObserve(o metav1.Object) bool {
	return ValidatePolicies(o) == nil && o.GetAnnotations()[AnnotationKeyManagementPolicy] == ManagementPolicyObserve
}

// GetAdoptionPolicy returns the object's adoption policy, or nothing if it has
// none, or one that nobody knows.
func GetAdoptionPolicy(o metav1.Object) string {
	if v := o.GetAnnotations()[AnnotationKeyAdoptionPolicy]; slices.Contains(adoptionPolicies, v) {
		return v
	}

	return ""
}

// ShouldAdopt reports whether an external resource that exists already and
// belongs to nobody may be taken over.
func ShouldAdopt(o metav1.Object) bool {
	p := GetAdoptionPolicy(o)

	return ValidatePolicies(o) == nil && (p == AdoptionPolicyIfUnowned || p == AdoptionPolicyForce)
}

// IsPaused reports whether the user asked to leave the object alone.
func IsPaused(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyReconciliationPaused] == "true"
}

// IsVerbose reports whether the user asked for a verbose connection.
func IsVerbose(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyConnectorVerbose] == "true"
}

// GetPollInterval returns the poll interval that the user set on the object,
// and whether there is one. If there is one that is no positive Go duration, the
// error, meant for the user, says so, and the duration is zero.
func GetPollInterval(o metav1.Object) (d time.Duration, set bool, err error) {
	v := o.GetAnnotations()[AnnotationKeyPollInterval]
	if v == "" {
		return 0, false, nil
	}

	d, err = time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, true, errors.Errorf(`annotation %s has the value %s; it must be a positive duration such as "90s" or "10m"`, AnnotationKeyPollInterval, quoted(v))
	}

	return d, true, nil
}

// quoted makes a user's value fit to be shown to him: annotations can be huge
// and hold control characters.
func quoted(v string) string {
	if r := []rune(v[:min(len(v), (maxQuotedValue+1)*utf8.UTFMax)]); len(r) > maxQuotedValue {
		v = string(r[:maxQuotedValue-1]) + "…"
	}

	return fmt.Sprintf("%q", v)
}
