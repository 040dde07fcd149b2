package gone

import (
	"context"
	"slices"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Unserved reports whether err is a 404 that names no object, or a mapper's error that it does
// not know the kind: a proxy answered, or an API server that does not serve the kind, the
// version or the path. It says so of that server at that moment alone: to wait or to refuse a
// start is right, to clean up is not.
func Unserved(err error) bool {
	return meta.IsNoMatchError(err) || kerrors.IsNotFound(err) && !Named(err)
}

// Named reports whether err is the answer that some object does not exist, and says which. It
// is for those who did not ask themselves, and do not know the name.
func Named(err error) bool {
	details, ok := answer(err)
	return ok && details.Name != ""
}

// NoPage is Named for fakes that leave the name out, as those of authors do: a 404 with
// details, and without the cause of one that is not an API server's.
func NoPage(err error) bool {
	_, ok := answer(err)
	return ok
}

// Answered reports whether err is the answer that there is no object of that name. The answer
// names it, so that a 404 of a proxy, or about a kind that is not served, is none.
//
// If resources are given, the answer must be about one of them, as far as it says what
// it is about. API servers give the resource, caches give the kind, and fakes often leave
// out the group: then the name is enough.
//
// The answer to a write may be about a subresource. To know that the object is gone, ask
// Confirmed.
func Answered(err error, name string, resources ...schema.GroupResource) bool {
	details, ok := answer(err)
	return ok && name != "" && details.Name == name &&
		(len(resources) == 0 || slices.ContainsFunc(resources,
			func(r schema.GroupResource) bool { return about(details, r) }))
}

// Ignore returns nil if Answered, and err otherwise. It is for reads, and for the
// deletion of the object itself.
func Ignore(err error, name string, resources ...schema.GroupResource) error {
	if Answered(err, name, resources...) {
		return nil
	}
	return err
}

// Confirmed reports whether the API server has the object no more: asked for it by name and
// namespace, it answers that there is none, or shows one of another UID, if the object that is
// given has one. It does not change that object.
//
// The reader must not be a cache, as those of cluster.Cluster.GetAPIReader are not. Any
// other answer is an error, after which the object has to be taken for one that is there.
func Confirmed(ctx context.Context, live client.Reader, obj client.Object) (bool, error) {
	now := obj.DeepCopyObject().(client.Object)
	key := client.ObjectKeyFromObject(obj)
	err := live.Get(ctx, key, now)
	if err == nil {
		return obj.GetUID() != "" && now.GetUID() != "" && now.GetUID() != obj.GetUID(), nil
	}
	details, ok := answer(err)
	if ok && key.Name != "" && details.Name == key.Name && about(details, names(live, obj, details)) {
		return true, nil
	}
	if kerrors.IsNotFound(err) {
		return false, errors.Wrapf(err, "cannot tell whether %s is gone, because the answer is not about it: "+
			"check that its kind is served, and what stands between this process and the API server", key)
	}
	return false, errors.Wrapf(err, "cannot ask the API server whether %s is gone", key)
}

// IgnoreConfirmed is what Ignore is, for the error of a write: it returns nil if that is a
// 404, of whatever sort, and Confirmed says that the object is gone. A 404 for an object
// that is there is an error that says what to check.
func IgnoreConfirmed(ctx context.Context, live client.Reader, obj client.Object, err error) error {
	if !kerrors.IsNotFound(err) {
		return err
	}
	switch absent, readErr := Confirmed(ctx, live, obj); {
	case readErr != nil:
		return readErr
	case absent:
		return nil
	default:
		return errors.Wrapf(err, "%s is there, although a write of it is answered with not-found: check that its kind has "+
			"the subresource "+
			"that is written, and that nothing answers in the place of the API server", client.ObjectKeyFromObject(obj))
	}
}

// answer returns what a NotFound says that it is about.
func answer(err error) (*metav1.StatusDetails, bool) {
	if !kerrors.IsNotFound(err) || kerrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, false
	}
	var status kerrors.APIStatus
	if !errors.As(err, &status) {
		return nil, false
	}
	details := status.Status().Details
	return details, details != nil
}

// about reports whether an answer may be about a resource. Without a group of its own, an
// answer about a resource with one is a fake's, whose kind is made up as well.
func about(details *metav1.StatusDetails, r schema.GroupResource) bool {
	switch {
	case details.Group == "" && r.Group != "":
		return true
	case details.Group != r.Group:
		return false
	default:
		return details.Kind == "" || r.Resource == "" || strings.EqualFold(details.Kind, r.Resource)
	}
}

// names returns the resource with which an answer about the object has to agree. What
// cannot be told stays as the answer has it; and that is all of an answer without a
// group, which is about a kind of the core or a fake's.
func names(r client.Reader, obj client.Object, details *metav1.StatusDetails) schema.GroupResource {
	said := schema.GroupResource{Group: details.Group, Resource: details.Kind}
	c, knows := r.(client.Client)
	gvk := obj.GetObjectKind().GroupVersionKind()
	if knows && gvk.Empty() && details.Group != "" {
		gvk, _ = c.GroupVersionKindFor(obj) // the zero value if it is in no scheme
	}
	if gvk.Empty() || details.Group == "" {
		return said
	}
	said.Group = gvk.Group
	if !knows || strings.EqualFold(details.Kind, gvk.Kind) || c.RESTMapper() == nil {
		return said
	}
	if m, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
		said.Resource = m.Resource.Resource
	}
	return said
}
