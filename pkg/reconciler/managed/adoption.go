package managed

import (
	"cmp"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithAdoptionPolicy sets what becomes of external resources that were there
// before their objects, for objects whose annotation does not say: one of the
// AdoptionPolicy values of package meta. The default, which "" is too, leaves what
// is known to belong to nobody or somebody else alone, and takes for ours what
// cannot tell to whom it belongs. Any other value is an error, see
// [NewReconciler]. It is no bound: for that see [WithAllowedAdoptionPolicies].
func WithAdoptionPolicy(policy string) ReconcilerOption {
	return func(r *Reconciler) { r.adoptionPolicy, r.adoption.Default = policy, adoptions[policy] }
}

// WithAllowedAdoptionPolicies sets which adoption policies the annotation of an
// object may name, of the AdoptionPolicy values of package meta. The default is
// all of them, but AdoptionPolicyForce takes over only what is known to belong to
// an object of the same namespace, see [ExternalObservation]. A cluster-scoped
// object takes over only what bears the [Stamp] of an object of its own kind and
// name, of another UID or cluster. Given here, AdoptionPolicyForce takes over whatever
// there is. AdoptionPolicyNever and what [WithAdoptionPolicy] says are always allowed,
// the latter within the bound of the default. What a policy that is not allowed would
// take over is left alone, and the object says so. A value that is no policy is an error,
// see [NewReconciler].
//
// Whoever may edit an object can give it the external name of anything that its
// credentials reach. This option is the bound for that, where clients can tell
// owners; where they cannot, give WithAdoptionPolicy(meta.AdoptionPolicyNever), too.
func WithAllowedAdoptionPolicies(policies ...string) ReconcilerOption {
	return func(r *Reconciler) {
		r.allowedAdoptionPolicies, r.adoption.Listed = policies, map[lifecycle.Adoption]bool{}
		for _, policy := range policies {
			r.adoption.Listed[adoptions[policy]] = true
		}
	}
}

var adoptions = map[string]lifecycle.Adoption{
	meta.AdoptionPolicyNever:      lifecycle.AdoptNever,
	meta.AdoptionPolicyIfUnowned:  lifecycle.AdoptUnowned,
	meta.AdoptionPolicyIfMatching: lifecycle.AdoptMatching,
	meta.AdoptionPolicyForce:      lifecycle.AdoptForce,
}

// adoption returns the adoption policy that the object asks for, and what of it is
// allowed for what was found.
func (p *creationRecord) adoption() (asked, allowed lifecycle.Adoption) {
	if p.takesOverRestored() {
		return lifecycle.AdoptForce, lifecycle.AdoptForce
	}
	policy := p.policyOfAdoption()

	return policy, p.r.adoption.Allowed(policy, lifecycle.Owner(p.observation.Owner), p.sameNamespace())
}

// policyOfAdoption returns the adoption policy that the object names, or else the default.
func (p *creationRecord) policyOfAdoption() lifecycle.Adoption {
	if own := meta.GetAdoptionPolicy(p.mg); own != "" {
		return adoptions[own]
	}

	return p.r.adoption.Default
}

// sameNamespace says whether what was found is known to belong to an object of the same namespace, or,
// where there is none, to one of the same kind and name: that two objects have no namespace
// says nothing of who may edit them.
func (p *creationRecord) sameNamespace() bool {
	found, namespace := p.observation.OwnerStamp, p.mg.GetNamespace()
	if namespace == "" {
		return found.names(p.stampOfKey())
	}

	return namespace == cmp.Or(p.observation.OwnerNamespace, found.Namespace())
}

// notOwned says whether what was found is not ours to change. A mark of creation
// or adoption counts for the name it was made for, which the object tells once it
// was found: another name than the stored one has to be claimed anew.
func (p *creationRecord) notOwned() bool {
	owner, matches := lifecycle.Owner(p.observation.Owner), p.observation.ResourceUpToDate
	_, adoption := p.adoption()
	if !lifecycle.NotOwned(owner, false, adoption, matches) { // whatever the marks say, which takes longer to find out
		return false
	}
	this := creation(p.mg, p.read)
	told, underThisName := p.observedInStatus(this)
	found := p.state.Seen == creation(p.mg, p.mg)
	claimed := this.Mark != "" && !meta.GetExternalCreateSucceeded(p.mg).IsZero() && (!told || underThisName || found)

	if p.r.named && p.observation.Owner == OwnerUnknown {
		claimed = claimed || p.hasFinalizer() // a finalizer without a mark means created here
	}

	return lifecycle.NotOwned(owner, claimed, adoption, matches)
}

// namedByUser says whether the external name is of no creation that is recorded: its user may have set it, in
// place of a creation that came to nothing, or as the answer to what became of one.
func (p *creationRecord) namedByUser() bool {
	id, _ := attemptOf(p.mg)
	over := id != "" && !copied(p.mg, id) && !lost(p.mg)
	begun := id != "" || !meta.GetExternalCreatePending(p.mg).IsZero()

	return !p.r.named && meta.GetExternalName(p.mg) != "" && (over || !begun)
}

// notAllowed says of a stranger's resource why the adoption policy of the object does
// not take it over, if it would but for its bound. Otherwise it returns nothing.
func (p *creationRecord) notAllowed() string {
	owner := lifecycle.Owner(p.observation.Owner)
	asked, allowed := p.adoption()
	if asked == allowed || lifecycle.NotOwned(owner, false, asked, p.observation.ResourceUpToDate) {
		return ""
	}
	policy, bound := meta.GetAdoptionPolicy(p.mg), "is not allowed by this provider"
	if p.r.adoption.Allowed(asked, owner, true) == asked {
		policy, bound = meta.AdoptionPolicyForce, "takes over only what is known to belong to an object of the same namespace"
		if p.mg.GetNamespace() == "" {
			bound = "takes over for a cluster-scoped object only what is known to belong to an object of the same kind and name"
		}
	}

	return fmt.Sprintf("the external resource is left as it is: the adoption policy %q %s: choose another name by the "+
		"annotation %s, "+
		"or ask whoever runs the provider to allow the policy (managed.WithAllowedAdoptionPolicies)", policy, bound,
		meta.AnnotationKeyExternalName)
}
