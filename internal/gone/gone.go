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

// Unserved returns whether err is a 404 that names no object, or the error of a RESTMapper for an unknown kind. The
// response then comes from a proxy, or from an API server that does not serve the kind, the version or the path. It is
// valid only for that server at that moment. A caller may wait or refuse to start, and must not clean up.
func Unserved(err error) bool {
	return meta.IsNoMatchError(err) || kerrors.IsNotFound(err) && !Named(err)
}

// Named returns whether err is a response that an object does not exist, with the name of that object. It is for
// callers that did not send the request themselves and do not know the name.
func Named(err error) bool {
	details, ok := answer(err)
	return ok && details.Name != ""
}

// NoPage returns whether err is a 404 with details and without the cause UnexpectedServerResponse. Unlike Named it does
// not require a name, because the fakes of authors often omit it.
func NoPage(err error) bool {
	_, ok := answer(err)
	return ok
}

// Answered returns whether err is the response that there is no object of that name. The response must have the name. A
// 404 of a proxy, or for a kind that is not served, lacks it and does not count.
//
// If resources are given, a response that names a resource must name one of them. API servers return the resource,
// caches return the kind, and fakes often omit the group. If only the name is there, it is enough.
//
// The response to a write may be about a subresource. To find out whether the object exists, call Confirmed.
func Answered(err error, name string, resources ...schema.GroupResource) bool {
	details, ok := answer(err)
	return ok && name != "" && details.Name == name &&
		(len(resources) == 0 || slices.ContainsFunc(resources,
			func(r schema.GroupResource) bool { return about(details, r) }))
}

// Ignore returns nil if Answered returns true, and err otherwise. It is for reads of the object, and for its deletion.
func Ignore(err error, name string, resources ...schema.GroupResource) error {
	if Answered(err, name, resources...) {
		return nil
	}
	return err
}

// Confirmed reads the object and returns whether it is gone: the response is NotFound, or an object with another UID.
// Without a UID in obj only NotFound counts. It does not change obj.
//
// live must not be a cache: use cluster.Cluster.GetAPIReader. Any other response is returned as an error; the caller
// then has to assume that the object exists.
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

// IgnoreConfirmed handles the error of a write. It returns nil if err is any 404 and Confirmed returns that the object
// is gone. If the object exists, it returns an error that names the remedy. It returns any other err unchanged.
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

// answer returns the details of an API server's NotFound response.
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

// about returns whether a response may be about a resource. If the resource has a group and the response has none, the
// response comes from a fake, whose kind means nothing.
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

// names returns the resource that a response about the object must have. Unknown parts are copied from the response. If
// the response has no group, all parts are unknown: it is about a core kind or comes from a fake.
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
