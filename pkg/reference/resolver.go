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

// A ResolutionRequest requests the value of a reference or of a selector. For the zero ResolutionRequest the response
// is empty.
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

	// WaitForReady waits until the condition Ready of the referent is True. The default is to wait for the value only.
	// Set WaitForReady if the value may exist before the referent can be used. For example, an external name may be
	// known before the external resource is created. A current value does not wait again if the referent stops being
	// ready later. An optional reference does not wait. The errors of such waits are Expected.
	WaitForReady bool
}

// IsNoOp reports whether the request has nothing to resolve. This is the case if there is no reference and no selector.
// It is also the case if there is a current value, and no policy requires that the reference or the selector is
// resolved again.
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
	// ResolvedValue is the value of the reference or of the selector.
	ResolvedValue string

	// ResolvedReference is the reference of the request, or a reference to the object that the selector has chosen. The
	// namespace in ResolvedReference is empty if the referent is in the namespace of the referring object.
	// ResolvedReference may share memory with the request.
	ResolvedReference *commonv1.NamespacedReference
}

// A MultiResolutionRequest requests the values of a list of references or of a selector. For the zero
// MultiResolutionRequest the response is empty.
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

	// WaitForReady waits until each referent is ready, like ResolutionRequest.WaitForReady. The referents of current
	// values do not wait again.
	WaitForReady bool
}

// IsNoOp reports whether the request has nothing to resolve. This is the case if there are no references and no
// selector. It is also the case if the request has enough current values, and no policy requires that they are resolved
// again. Enough means at least one value, and at least as many values as references.
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
	// sorted by name. ResolvedReferences may share memory with the request.
	ResolvedReferences []commonv1.NamespacedReference
}

// An APIResolver resolves the references of one object by reading their referents
// from the Kubernetes API. It is safe for concurrent use if its reader is.
type APIResolver struct {
	c    client.Reader
	from client.Object
}

// NewAPIResolver returns a resolver for the references of an object. The argument named "from" is this object, usually
// a resource.Managed. The resolver reads with the argument c. If c is a Recorder, the resolver finds cycles, and the
// object is enqueued when a referent changes. The resolver does not change the object.
func NewAPIResolver(c client.Reader, from client.Object) *APIResolver {
	return &APIResolver{c: c, from: from}
}

// Resolve returns the value of the reference or selector in the request. If the request has a current value, Resolve
// returns the current value without a read. The exception is the policy Always, with which Resolve always reads the
// referent.
//
// A selector has candidates: the objects that match the selector, are not being deleted and allow the reference. The
// referring object is never a candidate. The selector chooses the candidate whose name sorts first. There is one
// exception: without the policy Always, the selector chooses the same object as before if this object is still a
// candidate.
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

	q, err := r.query(settings{
		req.To, req.Selector != nil, req.Extract, req.WaitForReady, []string{req.CurrentValue},
	})
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

// ResolveMultiple is like Resolve, but for several referents. A selector chooses all objects that Resolve could choose.
// All required references must have a value.
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

	q, err := r.query(settings{
		req.To, req.Selector != nil, req.Extract, req.WaitForReady, req.CurrentValues,
	})
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
