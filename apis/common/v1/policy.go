package v1

import (
	"fmt"
	"slices"
	"strings"
)

// A ManagementAction is an action on an external resource.
// +kubebuilder:validation:Enum=Observe;Create;Update;Delete;LateInitialize;*
type ManagementAction string

// The management actions.
const (
	// ManagementActionObserve allows to observe the external resource. No
	// other action is possible without it.
	ManagementActionObserve ManagementAction = "Observe"

	// ManagementActionCreate allows to create the external resource.
	ManagementActionCreate ManagementAction = "Create"

	// ManagementActionUpdate allows to update the external resource.
	ManagementActionUpdate ManagementAction = "Update"

	// ManagementActionDelete allows to delete the external resource with the
	// object. Without it, the resource stays when the object goes.
	ManagementActionDelete ManagementAction = "Delete"

	// ManagementActionLateInitialize allows to fill unset fields of the spec
	// from the external resource.
	ManagementActionLateInitialize ManagementAction = "LateInitialize"

	// ManagementActionAll allows everything.
	ManagementActionAll ManagementAction = "*"
)

// ManagementPolicies are the actions that an object allows. Nil, the field not
// being set, allows everything; the empty list allows nothing and pauses the
// object. A field of this type is best declared with +optional and the default
// {"*"}, without omitempty, so that an empty list is stored as one.
type ManagementPolicies []ManagementAction

// Allow reports whether the action is allowed.
func (p ManagementPolicies) Allow(action ManagementAction) bool {
	return p == nil || slices.Contains(p, ManagementActionAll) || slices.Contains(p, action)
}

// Paused reports whether the policies are the empty list.
func (p ManagementPolicies) Paused() bool { return p != nil && len(p) == 0 }

// Validate returns an error if the policies contain an unknown action, or allow an action without Observe. The error is
// meant for the user.
func (p ManagementPolicies) Validate() error {
	known := []ManagementAction{
		ManagementActionObserve, ManagementActionCreate, ManagementActionUpdate,
		ManagementActionDelete, ManagementActionLateInitialize, ManagementActionAll,
	}
	for _, action := range p {
		if !slices.Contains(known, action) {
			return fmt.Errorf("spec.managementPolicies has the unknown action %.64q; allowed are %s", action,
				join(known))
		}
	}
	if len(p) > 0 && !p.Allow(ManagementActionObserve) {
		return fmt.Errorf("spec.managementPolicies allows %s without %s: "+
			"nothing can be done with what is not looked at; add %s, or %q",
			join(p.set()), ManagementActionObserve, ManagementActionObserve, ManagementActionAll)
	}

	return nil
}

// Equal reports whether both policies allow the same actions. Order and repetition do not matter. Nil equals {"*"}.
func (p ManagementPolicies) Equal(other ManagementPolicies) bool {
	return slices.Equal(p.set(), other.set())
}

func (p ManagementPolicies) set() []ManagementAction {
	if p == nil || slices.Contains(p, ManagementActionAll) {
		return []ManagementAction{ManagementActionAll}
	}
	set := slices.Clone(p)
	slices.Sort(set)

	return slices.Compact(set)
}

func join(actions []ManagementAction) string {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = string(a)
	}

	return strings.Join(words, ", ")
}
