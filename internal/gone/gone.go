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

// Unserved reports whether err is a 404 that names no object, or a RESTMapper's error for an
// unknown kind: a proxy answered, or an API server that does not serve the kind, the version or
// the path. The answer is about that server at that moment alone: a caller may wait or refuse
// to start, and must not clean up.
func Unserved(err error) bool {
	return meta.IsNoMatchError(err) || kerrors.IsNotFound(err) && !Named(err)
}

// Named reports whether err is the answer that some object does not exist, with its name. It is
// for callers that do not know the name, because they did not send the request themselves.
func Named(err error) bool {
	details, ok := answer(err)
	return ok && details.Name != ""
}

// NoPage is Named for fakes that leave the name out, as those of authors do: a 404 with
// details, and without the cause UnexpectedServerResponse.
func NoPage(err error) bool {
	_, ok := answer(err)
	return ok
}

// Answered reports whether err is the answer that there is no object of that name. The answer
// names it, so that a 404 of a proxy, or about a kind that is not served, is none.
//
// If resources are given, the answer must be about one of them, as far as it names a resource.
// API servers give the resource, caches give the kind, and fakes often leave out the group:
// then the name is enough.
//
// The answer to a write may be about a subresource. To find out whether the object is gone,
// call Confirmed.
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

// Confirmed reports whether the object is gone: a GET by name and namespace is answered with
// NotFound, or with an object of another UID, if obj has one. It does not change obj.
//
// The reader must not be a cache; that of cluster.Cluster.GetAPIReader is none. Any other
// answer is an error, after which the caller has to assume that the object exists.
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

// IgnoreConfirmed is Ignore for the error of a write: it returns nil if that is a 404 of any
// sort, and Confirmed reports that the object is gone. A 404 for an existing object is an error
// that names the remedy.
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

// answer returns the details of a NotFound of an API server.
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

// about reports whether an answer may be about a resource. An answer without a group about a
// resource with a group comes from a fake, whose kind means nothing either.
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

// names returns the resource that an answer about the object must have. Unknown parts are as in
// the answer: all parts are if the answer has no group, because it is about a core kind or
// comes from a fake.
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
