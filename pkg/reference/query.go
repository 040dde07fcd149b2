package reference

import (
	"cmp"
	"context"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A query is a validated request. It contains everything that can be determined without a read.
type query struct {
	c             client.Reader
	from          client.Object
	self          Referent
	kind          schema.GroupKind
	scope         scope
	to            To
	extract       ExtractValueFn
	currentValues []string
	waitForReady  bool
}

// settings are the parts of a request that are the same for one referent and for several.
type settings struct {
	to            To
	selects       bool // the request has a selector
	extract       ExtractValueFn
	waitForReady  bool
	currentValues []string
}

// query returns the query for a request. It returns an error if the request does not contain the type of the referent.
func (r *APIResolver) query(s settings) (*query, error) {
	switch {
	case s.selects && s.to.List == nil:
		return nil, errors.New("cannot resolve a selector: To.List does not say the type of the referents")
	case !s.selects && s.to.Managed == nil:
		return nil, errors.New("cannot resolve a reference: To.Managed does not say the type of the referent")
	}

	var example runtime.Object = s.to.Managed
	if s.selects {
		example = s.to.List
	}
	if s.waitForReady {
		if err := checkReadable(example); err != nil {
			return nil, err
		}
	}

	extract := s.extract
	if extract == nil {
		extract = ExternalName()
	}
	gvk := kindOf(r.c, example)

	q := &query{
		c:             r.c,
		from:          r.from,
		self:          Referent{kindOf(r.c, r.from).GroupKind(), r.from.GetNamespace(), r.from.GetName()},
		kind:          gvk.GroupKind(),
		scope:         scopeOf(r.c, gvk),
		to:            s.to,
		extract:       extract,
		currentValues: s.currentValues,
		waitForReady:  s.waitForReady,
	}
	if rec, ok := r.c.(*Recorder); ok {
		rec.self.Store(&q.self)
	}

	return q, nil
}

// resolve reads the referent of a reference and returns its value.
func (q *query) resolve(ctx context.Context, ref commonv1.NamespacedReference) (string, error) {
	to := q.referent(ref.Namespace, ref.Name)
	if to.Name == "" {
		return "", q.refused(to, ReasonMalformed, "it has no name")
	}
	if err := q.validate(to); err != nil {
		return "", err
	}
	if to == q.self {
		return "", q.refused(to, ReasonSelf, "")
	}

	o := newLike(q.to.Managed)
	if err := q.c.Get(ctx, types.NamespacedName{Namespace: to.Namespace, Name: to.Name}, o); err != nil {
		return "", q.getFailed(to, err)
	}
	if !q.isGranted(o, to.Namespace) {
		return "", q.refused(to, ReasonNotGranted, "")
	}
	if q.isSelf(o) {
		return "", q.refused(to, ReasonSelf, "")
	}
	if meta.WasDeleted(o) && !q.hasValueOf(o) {
		return "", q.waiting(to, ReasonDeleting)
	}

	return q.value(o)
}

// hasValueOf reports whether the referring object already has the value of the referent. In this case the reference
// resolves even while the referent is being deleted.
func (q *query) hasValueOf(o client.Object) bool {
	value := q.extract(o)

	return value != "" && slices.Contains(q.currentValues, value)
}

// getFailed returns the error for a failed read of a referent.
func (q *query) getFailed(to Referent, err error) error {
	switch {
	case !gone.Answered(err, to.Name):
		return errors.Wrapf(err, "cannot get %s", to)
	case isCrossNamespace(q.self, to.Namespace):
		return q.refused(to, ReasonNotGranted, "")
	default:
		return q.waiting(to, ReasonNotFound)
	}
}

// value returns the value of a referent.
func (q *query) value(o client.Object) (string, error) {
	value, why := q.extract(o), ReasonNoValue
	if value != "" {
		if !q.awaitsReady(o) {
			return value, nil
		}
		why = ReasonNotReady
	}

	to := Referent{q.kind, o.GetNamespace(), o.GetName()}
	if rec, ok := q.c.(*Recorder); ok {
		if cycle := rec.tracker.graph.cycle(q.self, to); cycle != nil {
			return "", &RefusedError{Referent: to, Reason: ReasonCycle, Cycle: cycle, from: q.self}
		}
	}

	return "", q.waiting(to, why)
}

// candidates returns the objects that the selector may choose, sorted by name. If there is none, it returns an error.
func (q *query) candidates(ctx context.Context, s *commonv1.NamespacedSelector) ([]client.Object, error) {
	to := q.referent(s.Namespace, "")
	if err := q.validate(to); err != nil {
		return nil, err
	}

	matches, err := labels.ValidatedSelectorFromSet(s.MatchLabels)
	if err != nil {
		return nil, q.refused(to, ReasonMalformed, "its labels are not valid: "+quote(err.Error()))
	}

	list := newLike(q.to.List)
	if err := q.c.List(
		ctx, list, client.InNamespace(to.Namespace), client.MatchingLabelsSelector{Selector: matches}); err != nil {
		return nil, errors.Wrapf(err, "cannot list %s", to)
	}

	var out []client.Object
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		if !ok {
			return errors.Errorf("%T is not an object", item)
		}
		if matches.Matches(labels.Set(o.GetLabels())) && q.isCandidate(o, to.Namespace, s.MatchControllerRef) {
			out = append(out, o)
		}

		return nil
	})
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read the items of %T", list)
	}
	if len(out) == 0 {
		return nil, q.waiting(to, ReasonNoMatch)
	}
	slices.SortFunc(out, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })

	return out, nil
}

// isCandidate reports whether a selector may choose the object.
func (q *query) isCandidate(o client.Object, namespace string, sameController *bool) bool {
	if sameController != nil && *sameController && !sharesController(q.from, o) {
		return false
	}

	inPlace := o.GetNamespace() == "" || o.GetNamespace() == namespace

	return inPlace && q.isGranted(o, namespace) && !meta.WasDeleted(o) && !q.isSelf(o)
}

// sharesController reports whether both objects have the same controller.
func sharesController(a, b metav1.Object) bool {
	ca, cb := metav1.GetControllerOf(a), metav1.GetControllerOf(b)

	return ca != nil && cb != nil && ca.UID == cb.UID
}

// choose returns the object that a selector chooses among the candidates. It returns the object of the existing
// reference, if this object is a candidate and the policy is not Always. Otherwise it returns the first candidate.
func (q *query) choose(
	objs []client.Object, earlier *commonv1.NamespacedReference, p *commonv1.ReferencePolicy,
) client.Object {
	if earlier == nil || p.IsAlways() {
		return objs[0]
	}
	for _, o := range objs {
		if q.refersTo(*earlier, o) {
			return o
		}
	}

	return objs[0]
}

// existingReference returns the reference among refs that refers to the object.
func (q *query) existingReference(o client.Object, refs []commonv1.NamespacedReference) *commonv1.NamespacedReference {
	for i := range refs {
		if q.refersTo(refs[i], o) {
			return &refs[i]
		}
	}

	return nil
}

// refersTo reports whether the reference refers to the object.
func (q *query) refersTo(ref commonv1.NamespacedReference, o client.Object) bool {
	return ref.Name == o.GetName() && (o.GetNamespace() == "" ||
		o.GetNamespace() == cmp.Or(ref.Namespace, q.self.Namespace))
}

// referenceTo returns a reference to the object. If the earlier reference refers to the object, it returns the earlier
// reference, which may have a policy.
func (q *query) referenceTo(o client.Object, earlier *commonv1.NamespacedReference) commonv1.NamespacedReference {
	if earlier != nil && q.refersTo(*earlier, o) {
		return *earlier
	}

	ref := commonv1.NamespacedReference{Name: o.GetName()}
	if isCrossNamespace(q.self, o.GetNamespace()) {
		ref.Namespace = o.GetNamespace()
	}

	return ref
}

// referent returns the referent for a namespace and a name in the spec.
func (q *query) referent(namespace, name string) Referent {
	if q.scope == scopeCluster {
		namespace = ""
	} else {
		namespace = cmp.Or(namespace, q.self.Namespace)
	}

	return Referent{q.kind, namespace, name}
}

// validate returns an error for a referent that cannot be read, or whose name would lead to another object. The name is
// empty for a selector.
func (q *query) validate(to Referent) error {
	if to.Namespace == "" && q.scope == scopeNamespace {
		return q.refused(to, ReasonMalformed, "a cluster-scoped object has to name the namespace")
	}
	for _, part := range []string{to.Namespace, to.Name} {
		if bad := content.IsPathSegmentName(part); len(bad) > 0 {
			return q.refused(to, ReasonMalformed, "a name "+bad[0])
		}
	}

	return nil
}

// isGranted reports whether the referring object may refer to o. This is the case if o is cluster-scoped, is in the
// namespace of the referring object, or allows the reference by its annotation.
//
// The namespace of o is compared, not the namespace of the request. If o has no namespace although its kind is
// namespaced, the namespace of the request is used.
func (q *query) isGranted(o client.Object, lookedIn string) bool {
	namespace := o.GetNamespace()
	if namespace == "" && q.scope == scopeNamespace {
		namespace = lookedIn
	}
	if !isCrossNamespace(q.self, namespace) {
		return true
	}

	for granted := range strings.SplitSeq(o.GetAnnotations()[meta.AnnotationKeyAllowReferencesFrom], ",") {
		granted = strings.TrimSpace(granted)
		if granted == "*" || granted != "" && granted == q.self.Namespace {
			return true
		}
	}

	return false
}

// isCrossNamespace reports whether a reference leads to another namespace. The namespace is empty for a cluster-scoped
// referent, to which no reference is cross-namespace.
func isCrossNamespace(from Referent, namespace string) bool {
	return namespace != "" && namespace != from.Namespace
}

// isSelf reports whether the object is the referring object.
func (q *query) isSelf(o client.Object) bool {
	if uid := q.from.GetUID(); uid != "" && uid == o.GetUID() {
		return true
	}

	return q.self == Referent{q.kind, o.GetNamespace(), o.GetName()}
}

// waiting returns a WaitingError.
func (q *query) waiting(to Referent, why Reason) error {
	return &WaitingError{Referent: to, Reason: why, Expected: q.waitForReady, from: q.self}
}

// refused returns a RefusedError.
func (q *query) refused(to Referent, why Reason, detail string) error {
	return &RefusedError{Referent: to, Reason: why, from: q.self, detail: detail}
}
