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

// Annotations with which a user controls the reconciliation of an object. Keys and
// values are case-sensitive, and an empty value is the same as no annotation.
const (
	// AnnotationKeyReconciliationPaused pauses the reconciliation of the object
	// while its value is "true".
	AnnotationKeyReconciliationPaused = "krateo.io/paused"

	// AnnotationKeyConnectorVerbose requests a verbose connection while its value is "true". Only the provider reads it.
	AnnotationKeyConnectorVerbose = "krateo.io/connector-verbose"

	// AnnotationKeyManagementPolicy determines which actions are allowed. Its value is one of the ManagementPolicy values.
	AnnotationKeyManagementPolicy = "krateo.io/management-policy"

	// AnnotationKeyDeletionPolicy determines whether the external resource is deleted with the object. Its value is one of
	// the DeletionPolicy values.
	AnnotationKeyDeletionPolicy = "krateo.io/deletion-policy"

	// AnnotationKeyAdoptionPolicy determines whether an existing external resource is adopted. Its value is one of the
	// AdoptionPolicy values. Without it the policy of managed.WithAdoptionPolicy applies.
	AnnotationKeyAdoptionPolicy = "moorage.dev/adoption-policy"

	// AnnotationKeyPollInterval is the interval between two observations of the
	// external resource, as a Go duration such as "90s" or "10m".
	AnnotationKeyPollInterval = "moorage.dev/poll-interval"

	// AnnotationKeyReconcileRequestedAt requests an immediate reconcile of the object whenever its value changes. Any
	// value works. The current time is customary.
	AnnotationKeyReconcileRequestedAt = "moorage.dev/reconcile-requested-at"

	// AnnotationKeyAllowReferencesFrom names the other namespaces whose objects may refer to the object. The value is a
	// comma-separated list, or "*" for all namespaces. Objects of the same namespace may always refer to the object.
	AnnotationKeyAllowReferencesFrom = "moorage.dev/allow-references-from"
)

// Values of AnnotationKeyManagementPolicy. The external resource is observed
// under each of them.
const (
	// ManagementPolicyDefault allows everything. It is the default.
	ManagementPolicyDefault = "default"

	// ManagementPolicyObserveCreateUpdate allows everything except deletion.
	ManagementPolicyObserveCreateUpdate = "observe-create-update"

	// ManagementPolicyObserveDelete allows deletion, but neither creation nor update.
	ManagementPolicyObserveDelete = "observe-delete"

	// ManagementPolicyObserve allows only observation.
	ManagementPolicyObserve = "observe"
)

// Values of AnnotationKeyDeletionPolicy.
const (
	// DeletionPolicyOrphan keeps the external resource.
	DeletionPolicyOrphan = "orphan"

	// DeletionPolicyDelete deletes the external resource. It is the default.
	DeletionPolicyDelete = "delete"
)

// Values of AnnotationKeyAdoptionPolicy.
const (
	// AdoptionPolicyNever leaves every existing resource alone, also if its owner cannot be determined.
	AdoptionPolicyNever = "never"

	// AdoptionPolicyIfUnowned adopts an existing resource that has no owner.
	AdoptionPolicyIfUnowned = "if-unowned"

	// AdoptionPolicyIfMatching adopts an existing resource that has no owner and
	// matches the spec already, so that the adoption does not change it.
	AdoptionPolicyIfMatching = "if-matching"

	// AdoptionPolicyForce adopts an existing resource of any owner, if the operator of the provider allows that
	// (managed.WithAllowedAdoptionPolicies). By default a namespaced object adopts only a resource that is known to
	// belong to an object of the same namespace. A cluster-scoped object adopts only a resource that is known to belong
	// to an object of the same kind and name.
	AdoptionPolicyForce = "force"
)

// Actions for IsActionAllowed.
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

// ValidatePolicies returns an error if a policy annotation has an unknown value. The error is meant for the user, and
// names the key, the value and the allowed values. While there is such an error, no action is allowed, because a
// misspelled policy must never permit anything.
func ValidatePolicies(o metav1.Object) error {
	for _, p := range policies {
		if v := o.GetAnnotations()[p.key]; v != "" && !slices.Contains(p.values, v) {
			return errors.Errorf("annotation %s has the unknown value %s; allowed are %s", p.key, quoted(v),
				strings.Join(p.values, ", "))
		}
	}

	return nil
}

// IsActionAllowed reports whether the management policy of the object allows the action: ActionCreate, ActionUpdate
// or ActionDelete. It returns false while ValidatePolicies returns an error. It does not check the deletion policy;
// ShouldDelete checks both policies.
func IsActionAllowed(o metav1.Object, action string) bool {
	policy := o.GetAnnotations()[AnnotationKeyManagementPolicy]

	return ValidatePolicies(o) == nil && slices.Contains(allowedBy[policy], action)
}

// ShouldCreate reports whether the policies of the object allow the creation of the external resource.
func ShouldCreate(o metav1.Object) bool { return IsActionAllowed(o, ActionCreate) }

// ShouldUpdate reports whether the policies of the object allow changes of the external resource.
func ShouldUpdate(o metav1.Object) bool { return IsActionAllowed(o, ActionUpdate) }

// ShouldDelete reports whether the policies of the object allow the deletion of the external resource. The deletion
// policy orphan forbids the deletion under every management policy.
func ShouldDelete(o metav1.Object) bool {
	return IsActionAllowed(o, ActionDelete) && o.GetAnnotations()[AnnotationKeyDeletionPolicy] != DeletionPolicyOrphan
}

// ShouldOnlyObserve reports whether the management policy of the object allows only observation.
func ShouldOnlyObserve(o metav1.Object) bool {
	return ValidatePolicies(o) == nil && o.GetAnnotations()[AnnotationKeyManagementPolicy] == ManagementPolicyObserve
}

// GetAdoptionPolicy returns the adoption policy in the annotation of the object. It returns "" if there is none, or
// if its value is unknown.
func GetAdoptionPolicy(o metav1.Object) string {
	if v := o.GetAnnotations()[AnnotationKeyAdoptionPolicy]; slices.Contains(adoptionPolicies, v) {
		return v
	}

	return ""
}

// ShouldAdopt reports whether the annotation of the object allows the adoption of an existing external resource without
// an owner, whatever the state of the resource.
func ShouldAdopt(o metav1.Object) bool {
	p := GetAdoptionPolicy(o)

	return ValidatePolicies(o) == nil && (p == AdoptionPolicyIfUnowned || p == AdoptionPolicyForce)
}

// IsPaused reports whether the user has paused the object.
func IsPaused(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyReconciliationPaused] == "true"
}

// IsVerbose reports whether the user has requested a verbose connection.
func IsVerbose(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyConnectorVerbose] == "true"
}

// GetPollInterval returns the poll interval that the user has set on the object. If the user has set none, set is
// false. If the value is not a positive Go duration, GetPollInterval returns zero and an error that is meant for the
// user.
func GetPollInterval(o metav1.Object) (d time.Duration, set bool, err error) {
	v := o.GetAnnotations()[AnnotationKeyPollInterval]
	if v == "" {
		return 0, false, nil
	}

	d, err = time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, true, errors.Errorf(
			`annotation %s has the value %s; it must be a positive duration such as "90s" or "10m"`,
			AnnotationKeyPollInterval, quoted(v))
	}

	return d, true, nil
}

// quoted shortens and quotes a user's value for a message: annotations can be
// large and have control characters.
func quoted(v string) string {
	if r := []rune(v[:min(len(v), (maxQuotedValue+1)*utf8.UTFMax)]); len(r) > maxQuotedValue {
		v = string(r[:maxQuotedValue-1]) + "…"
	}

	return fmt.Sprintf("%q", v)
}
