package reference

import (
	"fmt"
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// The known values of policies. An unknown value is usually misspelled, so it is an error and not the default.
var (
	resolvePolicies    = []commonv1.ResolvePolicy{"", commonv1.ResolvePolicyAlways, commonv1.ResolvePolicyIfNotPresent}
	resolutionPolicies = []commonv1.ResolutionPolicy{
		"", commonv1.ResolutionPolicyRequired, commonv1.ResolutionPolicyOptional,
	}
)

// unknownPolicyValue describes an unknown value in a policy. It returns "" if all values are known.
func unknownPolicyValue(p *commonv1.ReferencePolicy) string {
	switch {
	case p == nil:
		return ""
	case p.Resolve != nil && !slices.Contains(resolvePolicies, *p.Resolve):
		return fmt.Sprintf(
			"policy.resolve has the unknown value %s; allowed are Always and IfNotPresent", quote(string(*p.Resolve)))
	case p.Resolution != nil && !slices.Contains(resolutionPolicies, *p.Resolution):
		return fmt.Sprintf(
			"policy.resolution has the unknown value %s; allowed are Required and Optional",
			quote(string(*p.Resolution)))
	default:
		return ""
	}
}

// checkPolicies returns an error if a policy has an unknown value.
func (r *APIResolver) checkPolicies(to To, refs []commonv1.NamespacedReference, s *commonv1.NamespacedSelector) error {
	about := Referent{Namespace: r.from.GetNamespace()}
	detail := ""

	for i := range refs {
		if detail = unknownPolicyValue(refs[i].Policy); detail != "" {
			about.Name = refs[i].Name

			break
		}
	}
	if detail == "" && s != nil {
		detail = unknownPolicyValue(s.Policy)
	}
	if detail == "" {
		return nil
	}

	switch {
	case to.Managed != nil:
		about.GroupKind = kindOf(r.c, to.Managed).GroupKind()
	case to.List != nil:
		about.GroupKind = kindOf(r.c, to.List).GroupKind()
	}

	return &RefusedError{Referent: about, Reason: ReasonMalformed, detail: detail}
}

// asSlice returns a slice of the reference, empty if ref is nil.
func asSlice(ref *commonv1.NamespacedReference) []commonv1.NamespacedReference {
	if ref == nil {
		return nil
	}

	return []commonv1.NamespacedReference{*ref}
}

// isTolerated reports whether an optional reference may remain without a value after err. It returns false for a
// malformed reference and a failed read.
func isTolerated(p *commonv1.ReferencePolicy, err error) bool {
	if !p.IsOptional() {
		return false
	}

	var r *RefusedError
	if errors.As(err, &r) {
		return r.Reason == ReasonNotGranted || r.Reason == ReasonCycle
	}

	return IsWaiting(err)
}
