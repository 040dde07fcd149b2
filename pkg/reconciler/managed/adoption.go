package managed

import (
	"cmp"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// WithAdoptionPolicy sets the adoption policy of objects that have no annotation moorage.dev/adoption-policy. An
// adoption policy decides whether an object takes over an external resource that existed before the object.
//
// The policy is one of the AdoptionPolicy values of package meta, or "" for the default. Any other value is an error,
// see [NewReconciler]. By default an object takes over only resources whose owner the client cannot determine. It
// leaves alone a resource that has no owner or another owner.
//
// This option does not restrict the annotation; see [WithAllowedAdoptionPolicies].
func WithAdoptionPolicy(policy string) ReconcilerOption {
	return func(r *Reconciler) { r.adoptionPolicy, r.adoption.Default = policy, adoptions[policy] }
}

// WithAllowedAdoptionPolicies sets which adoption policies the annotation of an object may name. The policies are
// AdoptionPolicy values of package meta. Any other value is an error, see [NewReconciler]. AdoptionPolicyNever and the
// policy of [WithAdoptionPolicy] are always allowed.
//
// By default all policies are allowed, but AdoptionPolicyForce is restricted, also if [WithAdoptionPolicy] sets it. A
// namespaced object then takes over only a resource whose owner is an object of the same namespace, see
// [ExternalObservation]. A cluster-scoped object takes over only a resource whose [Stamp] has the kind and the name of
// the object, with any UID and cluster. If policies contains AdoptionPolicyForce, there is no restriction: an object
// takes over any resource.
//
// The reconciler leaves a resource alone if only a disallowed policy would take it over. A condition of the object says
// so.
//
// A user who may edit an object can set its external name to the name of any resource that the credentials reach. This
// option prevents a takeover of that resource if the client can determine its owner. If the client cannot determine
// owners, also give WithAdoptionPolicy(meta.AdoptionPolicyNever).
func WithAllowedAdoptionPolicies(policies ...string) ReconcilerOption {
	return func(r *Reconciler) {
		r.allowedAdoptionPolicies, r.adoption.Listed = policies, map[lifecycle.Adoption]bool{}
		for _, policy := range policies {
			r.adoption.Listed[adoptions[policy]] = true
		}
	}
}

// notOwned reports whether the observed resource must not be changed, because it is not ours. The record of a
// creation or an adoption counts only for the external name for which it was made. A resource with another name has
// to be adopted.
func (p *creationRecord) notOwned() bool {
	owner, matches := lifecycle.Owner(p.observation.Owner), p.observation.ResourceUpToDate
	_, adoption := p.adoption()
	if !lifecycle.NotOwned(owner, false, adoption, matches) { // whatever the marks are, which take longer to read
		return false
	}
	this := attempt.Creation(p.mg, p.read)
	inStatus, underThisName := p.observedInStatus(this)
	found := p.state.Seen == attempt.Creation(p.mg, p.mg)
	claimed := this.Mark != "" && !meta.GetExternalCreateSucceeded(p.mg).IsZero() && (!inStatus || underThisName || found)

	if p.r.named && p.observation.Owner == OwnerUnknown {
		claimed = claimed || p.hasFinalizer() // a finalizer without a mark means created here
	}

	return lifecycle.NotOwned(owner, claimed, adoption, matches)
}

// namedByUser reports whether no recorded creation has the external name. A user may have set the name after a failed
// creation, or to answer which resource a creation with unknown result has made.
func (p *creationRecord) namedByUser() bool {
	id, _ := attempt.Of(p.mg)
	over := id != "" && !attempt.Copied(p.mg, id) && !attempt.Unresolved(p.mg)
	begun := id != "" || !meta.GetExternalCreatePending(p.mg).IsZero()

	return !p.r.named && meta.GetExternalName(p.mg) != "" && (over || !begun)
}

// notAllowed returns why the object does not take over a foreign resource, if only [WithAllowedAdoptionPolicies]
// prevents it. Otherwise it returns "".
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
		"or ask the operator of the provider to allow the policy (managed.WithAllowedAdoptionPolicies)", policy, bound,
		meta.AnnotationKeyExternalName)
}

var adoptions = map[string]lifecycle.Adoption{
	meta.AdoptionPolicyNever:      lifecycle.AdoptNever,
	meta.AdoptionPolicyIfUnowned:  lifecycle.AdoptUnowned,
	meta.AdoptionPolicyIfMatching: lifecycle.AdoptMatching,
	meta.AdoptionPolicyForce:      lifecycle.AdoptForce,
}

// adoption returns the adoption policy that the object asks for, and the policy that is allowed for the observed
// resource.
func (p *creationRecord) adoption() (asked, allowed lifecycle.Adoption) {
	if p.takesOverRestored() {
		return lifecycle.AdoptForce, lifecycle.AdoptForce
	}
	policy := p.policyOfAdoption()

	return policy, p.r.adoption.Allowed(policy, lifecycle.Owner(p.observation.Owner), p.sameNamespace())
}

// policyOfAdoption returns the adoption policy in the annotation of the object. If there is none, it returns the
// default.
func (p *creationRecord) policyOfAdoption() lifecycle.Adoption {
	if own := meta.GetAdoptionPolicy(p.mg); own != "" {
		return adoptions[own]
	}

	return p.r.adoption.Default
}

// sameNamespace reports whether the observed resource is known to belong to an object of the same namespace. For a
// cluster-scoped object, the owner must have the same kind and name, because different users may edit two objects
// without a namespace.
func (p *creationRecord) sameNamespace() bool {
	found, namespace := p.observation.OwnerStamp, p.mg.GetNamespace()
	if namespace == "" {
		return found.names(p.stampOfKey())
	}

	return namespace == cmp.Or(p.observation.OwnerNamespace, found.Namespace())
}
