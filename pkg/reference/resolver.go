package reference

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// To is the type of a referent. Its values are empty objects, which are not changed.
type To struct {
	// Managed is an empty object of the referent's type. It is required for a reference.
	Managed client.Object

	// List is an empty list of the referent's type. It is required for a selector.
	List client.ObjectList
}

// A ResolutionRequest requests the value of a reference or of a selector. For the zero value the response is empty.
type ResolutionRequest struct {
	// CurrentValue is the value that the referring object currently has.
	CurrentValue string

	// Reference is the reference to the referent. If Selector is set too, Reference is the object that the selector has
	// chosen earlier.
	Reference *commonv1.NamespacedReference

	// Selector chooses the referent.
	Selector *commonv1.NamespacedSelector

	// To is the type of the referent.
	To To

	// Extract returns the value from the referent. The default is ExternalName.
	Extract ExtractValueFn
}

// IsNoOp reports whether the request has nothing to resolve. This is the case if there is no reference and no selector.
// It is also the case if there is a current value, and no policy demands to resolve it again.
func (r ResolutionRequest) IsNoOp() bool {
	if r.Reference == nil && r.Selector == nil {
		return true
	}

	return r.CurrentValue != "" && !r.always()
}

// always reports whether a policy is Always.
func (r ResolutionRequest) always() bool {
	return r.Reference != nil && r.Reference.Policy.IsAlways() || r.Selector != nil && r.Selector.Policy.IsAlways()
}

// A ResolutionResponse holds the values to set in the spec of the referring object.
type ResolutionResponse struct {
	// ResolvedValue is the value.
	ResolvedValue string

	// ResolvedReference is the reference of the request, or a reference to the object that the selector has chosen. Its
	// namespace is empty if the referent is in the namespace of the referring object. It may share memory with the
	// request.
	ResolvedReference *commonv1.NamespacedReference
}

// A MultiResolutionRequest requests the values of a list of references or of a selector. For the zero value the
// response is empty.
type MultiResolutionRequest struct {
	// CurrentValues are the values that the referring object currently has.
	CurrentValues []string

	// References are the references to the referents. If Selector is set too, References are the objects that the selector
	// has chosen earlier.
	References []commonv1.NamespacedReference

	// Selector chooses all referents that it matches.
	Selector *commonv1.NamespacedSelector

	// To is the type of the referents.
	To To

	// Extract returns the value from a referent. The default is ExternalName.
	Extract ExtractValueFn
}

// IsNoOp reports whether the request has nothing to resolve. This is the case if there are no references and no
// selector. It is also the case if there are current values, at least as many as references, and no policy demands to
// resolve them again.
func (r MultiResolutionRequest) IsNoOp() bool {
	if len(r.References) == 0 && r.Selector == nil {
		return true
	}

	return len(r.CurrentValues) > 0 && len(r.CurrentValues) >= len(r.References) && !r.always()
}

// always reports whether a policy is Always.
func (r MultiResolutionRequest) always() bool {
	for i := range r.References {
		if r.References[i].Policy.IsAlways() {
			return true
		}
	}

	return r.Selector != nil && r.Selector.Policy.IsAlways()
}

// A MultiResolutionResponse holds the values to set in the spec of the referring object.
type MultiResolutionResponse struct {
	// ResolvedValues are the values in the order of the references. Optional references without a value are left out.
	ResolvedValues []string

	// ResolvedReferences are the references of the request, or references to the objects that the selector has chosen,
	// sorted by name. They may share memory with the request.
	ResolvedReferences []commonv1.NamespacedReference
}

// An APIResolver resolves the references of one object by reading their referents
// from the Kubernetes API. It is safe for concurrent use if its reader is.
type APIResolver struct {
	c    client.Reader
	from client.Object
}

// NewAPIResolver returns a resolver for the references of the object from, which is usually a resource.Managed. The
// resolver reads with c. If c is a Recorder, the resolver finds cycles, and from is enqueued when a referent changes.
// The resolver does not change from.
func NewAPIResolver(c client.Reader, from client.Object) *APIResolver {
	return &APIResolver{c: c, from: from}
}

// Resolve returns the value of the reference or selector of the request. If there is a current value, Resolve returns
// it without a read, unless the policy is Always.
//
// A selector chooses among the objects that match it, are not being deleted and allow the reference. It never chooses
// the referring object. Unless its policy is Always, it chooses the same object as before if this object is still among
// them. Otherwise it chooses the object whose name sorts first.
//
// For an error, the response contains the current value. The error is an IsWaiting error, an IsRefused error or a
// failed read. An unknown policy is refused even if there is a current value. If an optional reference's referent is
// missing, not ready, not allowed or part of a cycle, Resolve returns neither a value nor an error.
func (r *APIResolver) Resolve(ctx context.Context, req ResolutionRequest) (ResolutionResponse, error) {
	kept := ResolutionResponse{ResolvedValue: req.CurrentValue, ResolvedReference: req.Reference}
	if err := r.checkPolicies(req.To, asSlice(req.Reference), req.Selector); err != nil {
		return kept, err
	}
	if req.IsNoOp() {
		return kept, nil
	}

	q, err := r.query(req.To, req.Selector != nil, req.Extract, req.CurrentValue)
	if err != nil {
		return kept, err
	}

	if req.Selector == nil {
		value, err := q.resolve(ctx, *req.Reference)

		return applyPolicy(kept, value, req.Reference.Policy, err)
	}

	objs, err := q.candidates(ctx, req.Selector)
	if err != nil {
		return applyPolicy(kept, "", req.Selector.Policy, err)
	}

	o := q.choose(objs, req.Reference, req.Selector.Policy)
	kept.ResolvedReference = new(q.referenceTo(o, req.Reference))
	value, err := q.value(o)

	return applyPolicy(kept, value, req.Selector.Policy, err)
}

// applyPolicy sets the value in the response. It drops an error that the policy tolerates.
func applyPolicy(
	rsp ResolutionResponse, value string, p *commonv1.ReferencePolicy, err error,
) (ResolutionResponse, error) {
	if err != nil && !isTolerated(p, err) {
		return rsp, err
	}
	rsp.ResolvedValue = value

	return rsp, nil
}

// ResolveMultiple is like Resolve, but for several referents. A selector chooses all candidates, and all required
// references must have a value.
func (r *APIResolver) ResolveMultiple(
	ctx context.Context, req MultiResolutionRequest,
) (MultiResolutionResponse, error) {
	kept := MultiResolutionResponse{ResolvedValues: req.CurrentValues, ResolvedReferences: req.References}
	if err := r.checkPolicies(req.To, req.References, req.Selector); err != nil {
		return kept, err
	}
	if req.IsNoOp() {
		return kept, nil
	}

	q, err := r.query(req.To, req.Selector != nil, req.Extract, req.CurrentValues...)
	if err != nil {
		return kept, err
	}

	if req.Selector != nil {
		return q.selectAll(ctx, req)
	}

	values := make([]string, 0, len(req.References))
	for _, ref := range req.References {
		value, err := q.resolve(ctx, ref)
		switch {
		case err == nil:
			values = append(values, value)
		case !isTolerated(ref.Policy, err):
			return kept, err
		}
	}
	kept.ResolvedValues = values

	return kept, nil
}

// selectAll resolves a request with a selector.
func (q *query) selectAll(ctx context.Context, req MultiResolutionRequest) (MultiResolutionResponse, error) {
	kept := MultiResolutionResponse{ResolvedValues: req.CurrentValues, ResolvedReferences: req.References}

	objs, err := q.candidates(ctx, req.Selector)
	if err != nil {
		if isTolerated(req.Selector.Policy, err) {
			kept.ResolvedValues, err = nil, nil
		}

		return kept, err
	}

	refs := make([]commonv1.NamespacedReference, len(objs))
	for i, o := range objs {
		refs[i] = q.referenceTo(o, q.existingReference(o, req.References))
	}
	kept.ResolvedReferences = refs

	values := make([]string, 0, len(objs))
	for _, o := range objs {
		value, err := q.value(o)
		switch {
		case err == nil:
			values = append(values, value)
		case !isTolerated(req.Selector.Policy, err):
			return kept, err
		}
	}
	kept.ResolvedValues = values

	return kept, nil
}
