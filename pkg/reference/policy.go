package reference

import (
	"fmt"
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// What a policy may be. A misspelt one must not be taken for the default: the
// user meant something else.
var (
	resolvePolicies    = []commonv1.ResolvePolicy{"", commonv1.ResolvePolicyAlways, commonv1.ResolvePolicyIfNotPresent}
	resolutionPolicies = []commonv1.ResolutionPolicy{"", commonv1.ResolutionPolicyRequired, commonv1.ResolutionPolicyOptional}
)

// unknown says which value of a policy nobody knows, or nothing.
func unknown(p *commonv1.ReferencePolicy) string {
	switch {
	case p == nil:
		return ""
	case p.Resolve != nil && !slices.Contains(resolvePolicies, *p.Resolve):
		return fmt.Sprintf("policy.resolve has the unknown value %s; allowed are Always and IfNotPresent", shown(string(*p.Resolve)))
	case p.Resolution != nil && !slices.Contains(resolutionPolicies, *p.Resolution):
		return fmt.Sprintf("policy.resolution has the unknown value %s; allowed are Required and Optional", shown(string(*p.Resolution)))
	default:
		return ""
	}
}

// checkPolicies refuses a request with a policy that nobody knows.
func (r *APIResolver) checkPolicies(to To, refs []commonv1.NamespacedReference, s *commonv1.NamespacedSelector) error {
	about := Referent{Namespace: r.from.GetNamespace()}
	detail := ""

	for i := range refs {
		if detail = unknown(refs[i].Policy); detail != "" {
			about.Name = refs[i].Name

			break
		}
	}
	if detail == "" && s != nil {
		detail = unknown(s.Policy)
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

// one makes a list of a reference that may be missing.
func one(ref *commonv1.NamespacedReference) []commonv1.NamespacedReference {
	if ref == nil {
		return nil
	}

	return []commonv1.NamespacedReference{*ref}
}

// tolerated reports whether an optional reference may go without a value: a
// mistake in the reference itself, or a read that failed, is an error all the
// same.
func tolerated(p *commonv1.ReferencePolicy, err error) bool {
	if !p.IsOptional() {
		return false
	}

	var r *RefusedError
	if errors.As(err, &r) {
		return r.Reason == ReasonNotGranted || r.Reason == ReasonCycle
	}

	return IsWaiting(err)
}
