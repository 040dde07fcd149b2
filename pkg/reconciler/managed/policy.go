package managed

import (
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithSupportedManagementPolicies sets which sets of actions
// spec.managementPolicies may be. The default is every set that allows to
// observe. An object with another set is told so, and nothing is called for it.
// The empty list, which pauses, is always supported.
func WithSupportedManagementPolicies(sets ...commonv1.ManagementPolicies) ReconcilerOption {
	return func(r *Reconciler) { r.supported = sets }
}

// Policies returns what the spec of the object allows: everything if the kind
// has no such field.
func policies(mg resource.Managed) commonv1.ManagementPolicies {
	if m, ok := mg.(resource.Manageable); ok {
		return m.GetManagementPolicies()
	}

	return nil
}

// CheckPolicies returns an error, meant for the user, if a policy of the object
// is not understood or not supported.
func (r *Reconciler) checkPolicies(mg resource.Managed) error {
	if err := meta.ValidatePolicies(mg); err != nil {
		return err
	}
	asked := policies(mg)
	if err := asked.Validate(); err != nil {
		return err
	}
	if r.supported == nil || asked.Paused() || slices.ContainsFunc(r.supported, asked.Equal) {
		return nil
	}

	return errors.Errorf("spec.managementPolicies %v is not supported by this provider; supported are %v", asked, r.supported)
}

// Halted says whether the user asked to leave the object alone.

// Permissions are what both the annotations and the spec of the object allow.
// To orphan is a prohibition, so that it wins.
func permissions(mg resource.Managed) lifecycle.Permissions {
	spec := policies(mg)

	return lifecycle.Permissions{
		Create: meta.ShouldCreate(mg) && spec.Allow(commonv1.ManagementActionCreate),
		Update: meta.ShouldUpdate(mg) && spec.Allow(commonv1.ManagementActionUpdate),
		Delete: meta.ShouldDelete(mg) && spec.Allow(commonv1.ManagementActionDelete),
	}
}

// May returns the permissions, less what turned out to be spared, and what has to be
// asked for.
func (p *pass) may() lifecycle.Permissions {
	may := permissions(p.mg)
	may.Delete = may.Delete && !p.spared
	may.Create = may.Create && !p.awaitsRequest()

	return may
}

func mayLateInitialize(mg resource.Managed) bool {
	return policies(mg).Allow(commonv1.ManagementActionLateInitialize)
}
