package reference

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// To says of which type the referent is. The objects are examples: they are
// neither read into nor changed. Give an empty one.
type To struct {
	// Managed is the type of the referent. It is needed for a reference.
	Managed client.Object

	// List is the type of a list of referents. It is needed for a selector.
	List client.ObjectList
}

// A ResolutionRequest asks for the value that a reference, or else a selector,
// means. The zero value asks for nothing and is answered with nothing.
type ResolutionRequest struct {
	// CurrentValue is the value that the referring object has.
	CurrentValue string

	// Reference to the referent. If there is a selector too, it is what the
	// selector chose earlier.
	Reference *commonv1.NamespacedReference

	// Selector that chooses the referent.
	Selector *commonv1.NamespacedSelector

	// To says of which type the referent is.
	To To

	// Extract returns the value. Nil is ExternalName.
	Extract ExtractValueFn
}

// IsNoOp reports whether there is nothing to do: nothing is referred to, or there
// is a value that no policy asks to resolve again.
func (r ResolutionRequest) IsNoOp() bool {
	if r.Reference == nil && r.Selector == nil {
		return true
	}

	return r.CurrentValue != "" && !r.always()
}

func (r ResolutionRequest) always() bool {
	return r.Reference != nil && r.Reference.Policy.IsAlways() || r.Selector != nil && r.Selector.Policy.IsAlways()
}

// A ResolutionResponse is what the referring object is to have in its spec.
type ResolutionResponse struct {
	// ResolvedValue is the value.
	ResolvedValue string

	// ResolvedReference is the reference that was asked about, or what the
	// selector chose. Its namespace is empty if it is that of the referring
	// object. It may share memory with the request.
	ResolvedReference *commonv1.NamespacedReference
}

// A MultiResolutionRequest asks for the values that a list of references, or else
// a selector, mean. The zero value asks for nothing and is answered with nothing.
type MultiResolutionRequest struct {
	// CurrentValues are the values that the referring object has.
	CurrentValues []string

	// References to the referents. If there is a selector too, they are what the
	// selector chose earlier.
	References []commonv1.NamespacedReference

	// Selector that chooses all referents that it matches.
	Selector *commonv1.NamespacedSelector

	// To says of which type the referents are.
	To To

	// Extract returns a value. Nil is ExternalName.
	Extract ExtractValueFn
}

// IsNoOp reports whether there is nothing to do: nothing is referred to, or there
// are values, not fewer than references, and no policy asks to resolve them again.
func (r MultiResolutionRequest) IsNoOp() bool {
	if len(r.References) == 0 && r.Selector == nil {
		return true
	}

	return len(r.CurrentValues) > 0 && len(r.CurrentValues) >= len(r.References) && !r.always()
}

func (r MultiResolutionRequest) always() bool {
	for i := range r.References {
		if r.References[i].Policy.IsAlways() {
			return true
		}
	}

	return r.Selector != nil && r.Selector.Policy.IsAlways()
}

// A MultiResolutionResponse is what the referring object is to have in its spec.
type MultiResolutionResponse struct {
	// ResolvedValues are the values, in the order of the references. Optional
	// references without a value are left out.
	ResolvedValues []string

	// ResolvedReferences are the references that were asked about, or what the
	// selector chose, by name. They may share memory with the request.
	ResolvedReferences []commonv1.NamespacedReference
}

// An APIResolver resolves the references of one object by reading their referents
// from the Kubernetes API. It may be used concurrently if its reader may.
type APIResolver struct {
	c    client.Reader
	from client.Object
}

// NewAPIResolver returns a resolver for the references of from, usually a
// resource.Managed, that reads with c. If c is a Recorder, cycles are found and
// from is woken when a referent changes. From is not changed.
func NewAPIResolver(c client.Reader, from client.Object) *APIResolver {
	return &APIResolver{c: c, from: from}
}

// Resolve returns the value that the request means. A current value is returned
// without a read, unless the policy is Always.
//
// A selector chooses among the objects that it matches, that are not being
// deleted and that grant the reference: the one that was chosen earlier, unless
// the selector's policy is Always, and otherwise the one whose name sorts first.
// It never chooses the referring object.
//
// An optional reference whose referent is missing, not ready, not granted or part
// of a cycle is answered without a value and without an error. A policy that
// nobody knows is refused even if there is a current value. Otherwise there is
// an error that IsWaiting or IsRefused is true of, or that of a read that failed,
// and the response holds the current value.
func (r *APIResolver) Resolve(ctx context.Context, req ResolutionRequest) (ResolutionResponse, error) {
	kept := ResolutionResponse{ResolvedValue: req.CurrentValue, ResolvedReference: req.Reference}
	if err := r.checkPolicies(req.To, one(req.Reference), req.Selector); err != nil {
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
		value, err := q.follow(ctx, *req.Reference)

		return settle(kept, value, req.Reference.Policy, err)
	}

	objs, err := q.matching(ctx, req.Selector)
	if err != nil {
		return settle(kept, "", req.Selector.Policy, err)
	}

	o := q.choose(objs, req.Reference, req.Selector.Policy)
	kept.ResolvedReference = new(q.referenceTo(o, req.Reference))
	value, err := q.value(o)

	return settle(kept, value, req.Selector.Policy, err)
}

// settle puts the value, or the lack of it, into the response.
func settle(rsp ResolutionResponse, value string, p *commonv1.ReferencePolicy, err error) (ResolutionResponse, error) {
	if err != nil && !tolerated(p, err) {
		return rsp, err
	}
	rsp.ResolvedValue = value

	return rsp, nil
}

// ResolveMultiple returns the values that the request means. It is Resolve for
// several referents, with these differences: a selector chooses all that it may,
// and of references the required ones must all have a value.
func (r *APIResolver) ResolveMultiple(ctx context.Context, req MultiResolutionRequest) (MultiResolutionResponse, error) {
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
		value, err := q.follow(ctx, ref)
		switch {
		case err == nil:
			values = append(values, value)
		case !tolerated(ref.Policy, err):
			return kept, err
		}
	}
	kept.ResolvedValues = values

	return kept, nil
}

// selectAll answers a request with a selector.
func (q *query) selectAll(ctx context.Context, req MultiResolutionRequest) (MultiResolutionResponse, error) {
	kept := MultiResolutionResponse{ResolvedValues: req.CurrentValues, ResolvedReferences: req.References}

	objs, err := q.matching(ctx, req.Selector)
	if err != nil {
		if tolerated(req.Selector.Policy, err) {
			kept.ResolvedValues, err = nil, nil
		}

		return kept, err
	}

	refs := make([]commonv1.NamespacedReference, len(objs))
	for i, o := range objs {
		refs[i] = q.referenceTo(o, q.earlier(o, req.References))
	}
	kept.ResolvedReferences = refs

	values := make([]string, 0, len(objs))
	for _, o := range objs {
		value, err := q.value(o)
		switch {
		case err == nil:
			values = append(values, value)
		case !tolerated(req.Selector.Policy, err):
			return kept, err
		}
	}
	kept.ResolvedValues = values

	return kept, nil
}
