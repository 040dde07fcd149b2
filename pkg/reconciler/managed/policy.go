package managed

import (
	"reflect"
	"slices"
	"strings"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithSupportedManagementPolicies sets which lists of actions spec.managementPolicies may have. The default is every
// list that allows observing. The empty list, which pauses the object, is always supported.
//
// For an object with another list, the reconciler makes no external call. The object reports that its list is not
// supported. A list that no object can have is an error, see [NewReconciler].
func WithSupportedManagementPolicies(sets ...commonv1.ManagementPolicies) ReconcilerOption {
	return func(r *Reconciler) { r.supported = sets }
}

// checkPolicies returns an error, meant for the user, if a policy of the object is unknown or not supported.
func (r *Reconciler) checkPolicies(mg resource.Managed) error {
	if err := meta.ValidatePolicies(mg); err != nil {
		return err
	}
	if err := r.checkDeletionPolicy(mg); err != nil {
		return err
	}
	asked := policies(mg)
	if err := asked.Validate(); err != nil {
		return err
	}
	if r.supported == nil || asked.Paused() || slices.ContainsFunc(r.supported, asked.Equal) {
		return nil
	}

	return errors.Errorf("spec.managementPolicies %v is not supported by this provider; supported are %v", asked,
		r.supported)
}

// checkDeletionPolicy returns an error if the value of spec.deletionPolicy is unknown.
func (r *Reconciler) checkDeletionPolicy(mg resource.Managed) error {
	if r.deletionPolicy == nil {
		return nil
	}
	policy := r.deletionPolicy(mg)
	if policy == "" || strings.EqualFold(policy, specDelete) || strings.EqualFold(policy, specOrphan) {
		return nil
	}

	return errors.Errorf("spec.deletionPolicy has the unknown value %.64q; allowed are %s, %s", policy, specDelete,
		specOrphan)
}

// Values of spec.deletionPolicy, in any case.
const (
	specDelete = "Delete"
	specOrphan = "Orphan"
)

// deletionPolicyOf returns a function that reads spec.deletionPolicy of objects of a type. Kinds of krateo's v0.7 and
// of crossplane's v1 have this field. Their method GetDeletionPolicy returns a string of the author's type, or a
// pointer to one. For other types the result is nil.
func deletionPolicyOf(of reflect.Type) func(resource.Managed) string {
	method, ok := of.MethodByName("GetDeletionPolicy")
	if !ok || method.Type.NumIn() != 1 || method.Type.NumOut() != 1 {
		return nil
	}
	text := method.Type.Out(0)
	pointer := text.Kind() == reflect.Pointer
	if pointer {
		text = text.Elem()
	}
	if text.Kind() != reflect.String {
		return nil
	}

	return func(mg resource.Managed) string {
		// By its name: with an index the linker would keep every method of every type.
		policy := reflect.ValueOf(mg).MethodByName("GetDeletionPolicy").Call(nil)[0]
		switch {
		case !pointer:
			return policy.String()
		case policy.IsNil():
			return ""
		}

		return policy.Elem().String()
	}
}

// permissions returns the actions that both the annotations and the spec of the object allow. Orphan in either of
// them forbids Delete.
func (r *Reconciler) permissions(mg resource.Managed) lifecycle.Permissions {
	spec := policies(mg)
	orphaned := false
	if r.deletionPolicy != nil {
		policy := r.deletionPolicy(mg)
		orphaned = policy != "" && !strings.EqualFold(policy, specDelete)
	}

	return lifecycle.Permissions{
		Create: meta.ShouldCreate(mg) && spec.Allow(commonv1.ManagementActionCreate),
		Update: meta.ShouldUpdate(mg) && spec.Allow(commonv1.ManagementActionUpdate),
		Delete: meta.ShouldDelete(mg) && spec.Allow(commonv1.ManagementActionDelete) && !orphaned,
	}
}

func mayLateInitialize(mg resource.Managed) bool {
	return policies(mg).Allow(commonv1.ManagementActionLateInitialize)
}

// policies returns the management policies in the spec of the object. If the kind has no such field, everything is
// allowed.
func policies(mg resource.Managed) commonv1.ManagementPolicies {
	if m, ok := mg.(resource.Manageable); ok {
		return m.GetManagementPolicies()
	}

	return nil
}
