package reference

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// To is the type of the referent. The objects are examples: they are not changed. Give
// empty ones.
type To struct {
	// Managed is the type of the referent. It is needed for a reference.
	Managed client.Object

	// List is the type of a list of referents. It is needed for a selector.
	List client.ObjectList
}

// A ResolutionRequest asks for the value of a reference, or of a selector. The zero
// value asks for nothing: the response is empty.
type ResolutionRequest struct {
	// CurrentValue is the value that the referring object has.
	CurrentValue string

	// Reference to the referent. If there is a selector too, it is what the
	// selector chose earlier.
	Reference *commonv1.NamespacedReference

	// Selector that chooses the referent.
	Selector *commonv1.NamespacedSelector

	// To is the type of the referent.
	To To

	// Extract returns the value. Nil is ExternalName.
	Extract ExtractValueFn
}

// IsNoOp reports whether there is nothing to do: there is no reference and no selector,
// or there is a value and no policy asks to resolve it again.
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

	// ResolvedReference is the reference of the request, or a reference to the object
	// that the selector chose. Its namespace is empty if it is that of the referring
	// object. It may share memory with the request.
	ResolvedReference *commonv1.NamespacedReference
}

// A MultiResolutionRequest asks for the values of a list of references, or of a
// selector. The zero value asks for nothing: the response is empty.
type MultiResolutionRequest struct {
	// CurrentValues are the values that the referring object has.
	CurrentValues []string

	// References to the referents. If there is a selector too, they are what the
	// selector chose earlier.
	References []commonv1.NamespacedReference

	// Selector that chooses all referents that it matches.
	Selector *commonv1.NamespacedSelector

	// To is the type of the referents.
	To To

	// Extract returns a value. Nil is ExternalName.
	Extract ExtractValueFn
}

// IsNoOp reports whether there is nothing to do: there is no reference and no selector,
// or there are values, not fewer than references, and no policy asks to resolve them again.
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
	// ResolvedValues are the values, in the order of the references. Optional
	// references without a value are left out.
	ResolvedValues []string

	// ResolvedReferences are the references of the request, or references to the
	// objects that the selector chose, sorted by name. They may share memory with the request.
	ResolvedReferences []commonv1.NamespacedReference
}

// An APIResolver resolves the references of one object by reading their referents
// from the Kubernetes API. It is safe for concurrent use if its reader is.
type APIResolver struct {
	c    client.Reader
	from client.Object
}

// NewAPIResolver returns a resolver for the references of from, usually a
// resource.Managed, that reads with c. If c is a Recorder, cycles are found and
// from is enqueued when a referent changes. It does not change from.
func NewAPIResolver(c client.Reader, from client.Object) *APIResolver {
	return &APIResolver{c: c, from: from}
}

// Resolve returns the value of the request. It returns a current value without a
// read, unless the policy is Always.
//
// A selector chooses among the objects that it matches, that are not being
// deleted and that grant the reference: the one that was chosen earlier, unless
// the selector's policy is Always, and otherwise the one whose name sorts first.
// It never chooses the referring object.
//
// For an optional reference whose referent is missing, not ready, not granted or part
// of a cycle, it returns neither a value nor an error. An unknown policy is refused
// even if there is a current value. Otherwise it returns an error for which IsWaiting
// or IsRefused is true, or that of a failed read, and a response with the current value.
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

// applyPolicy sets the value in the response, and drops an error that the policy
// tolerates.
func applyPolicy(
	rsp ResolutionResponse, value string, p *commonv1.ReferencePolicy, err error,
) (ResolutionResponse, error) {
	if err != nil && !isTolerated(p, err) {
		return rsp, err
	}
	rsp.ResolvedValue = value

	return rsp, nil
}

// ResolveMultiple is Resolve for several referents, with these differences: a selector
// chooses all candidates, and all required references must have a value.
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
