package clusteraccess

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// metadata returns the metadata of the requests for a cluster of an object. If a value is too long for a label, an
// annotation contains the complete value.
func (r *Requester) metadata(reg Registration, request reconcile.Request, id identity) metav1.ObjectMeta {
	of := map[string]string{LabelOnboardingName: request.Name, LabelOnboardingNamespace: request.Namespace}
	labels := map[string]string{LabelManagedBy: bounded(id.controller), LabelManagedPurpose: purposeLabel(reg, request)}
	for key, value := range of {
		labels[key] = bounded(value)
	}

	return metav1.ObjectMeta{
		Namespace: reg.namespace(request), Name: id.name, Labels: labels, Annotations: of,
		Finalizers: []string{Finalizer},
	}
}

// newAccessRequest returns the AccessRequest for a cluster of an object.
func (r *Requester) newAccessRequest(reg Registration, request reconcile.Request) *clustersv1alpha1.AccessRequest {
	return &clustersv1alpha1.AccessRequest{
		ObjectMeta: r.metadata(
			reg, request, r.identities(
				reg, request)[0]), Spec: clustersv1alpha1.AccessRequestSpec{Token: reg.Token, OIDC: reg.OIDC},
	}
}

// newClusterRequest returns the ClusterRequest for a cluster of an object.
func (r *Requester) newClusterRequest(reg Registration, request reconcile.Request) *clustersv1alpha1.ClusterRequest {
	return &clustersv1alpha1.ClusterRequest{
		ObjectMeta: r.metadata(reg, request, r.identities(reg, request)[0]), Spec: *reg.Request,
	}
}

// objectOf returns the object to which a request belongs. It reads the annotations of the request, or its labels if
// another program has created it.
func objectOf(o client.Object) reconcile.Request {
	of := o.GetAnnotations()
	if of[LabelOnboardingName] == "" {
		of = o.GetLabels()
	}

	return reconcile.Request{
		NamespacedName: client.ObjectKey{Namespace: of[LabelOnboardingNamespace], Name: of[LabelOnboardingName]},
	}
}

// isOwned reports whether a request belongs to this controller, this cluster and this object. The request may have been
// created by this version, an earlier version, or the platform's library. The library writes the object to the purpose,
// and not always to labels.
func (r *Requester) isOwned(o client.Object, reg Registration, want metav1.ObjectMeta) bool {
	labels := o.GetLabels()
	if !strings.EqualFold(labels[LabelManagedBy], want.Labels[LabelManagedBy]) {
		return false
	}
	_, named := labels[LabelOnboardingName]
	of := labels[LabelOnboardingName] == want.Labels[LabelOnboardingName] &&
		labels[LabelOnboardingNamespace] == want.Labels[LabelOnboardingNamespace]
	if labels[LabelManagedPurpose] == want.Labels[LabelManagedPurpose] {
		return of || !named
	}

	return of && labels[LabelManagedPurpose] == bounded(reg.ID)
}

// locate returns our request for a cluster of an object, under any of its possible names. If there is none, and a
// request with the current name belongs to another owner, the error is ErrAccessNotOwned. For a request with another
// name, fits must also return true.
func locate[T any, P interface {
	*T
	client.Object
}](
	ctx context.Context, r *Requester, from client.Reader, reg Registration, request reconcile.Request,
	fits func(P) bool,
) (P, bool, error) {
	var foreign error
	for i, id := range r.identities(reg, request) {
		o, key := P(new(T)), client.ObjectKey{Namespace: reg.namespace(request), Name: id.name}
		err := from.Get(ctx, key, o)
		switch {
		case gone.Answered(err, key.Name):
		case err != nil:
			return nil, false, errors.Wrap(err, "cannot get the request")
		case r.isOwned(o, reg, r.metadata(reg, request, id)) && (i == 0 || fits == nil || fits(o)):
			return o, true, nil
		case i == 0:
			foreign = errors.Wrapf(serviceprovider.ErrAccessNotOwned, "%s %s", kind(o), key)
		}
	}

	return nil, false, foreign
}

// kind returns the kind of a request.
func kind(o client.Object) string {
	if _, ok := o.(*clustersv1alpha1.ClusterRequest); ok {
		return "ClusterRequest"
	}

	return "AccessRequest"
}

// takeOver sets the labels and annotations of a request to those of a new request, and applies change, in one patch. If
// nothing differs, it sends no request.
func (r *Requester) takeOver(
	ctx context.Context, o client.Object, reg Registration, request reconcile.Request, change func(),
) error {
	base, _ := o.DeepCopyObject().(client.Object)
	all := r.identities(reg, request)
	as := all[slices.IndexFunc(all, func(id identity) bool { return id.name == o.GetName() })]
	want := r.metadata(reg, request, as)
	meta.AddLabels(o, want.Labels)
	meta.AddAnnotations(o, want.Annotations)
	if !equality.Semantic.DeepEqual(base, o) {
		meta.AddFinalizer(o, Finalizer)
	}
	if change != nil {
		change()
	}
	if equality.Semantic.DeepEqual(base, o) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})

	return errors.Wrap(r.platform.Client().Patch(ctx, o, patch), "cannot change the request")
}

// ensure requests access to one cluster, and reports whether it is granted.
func (r *Requester) ensure(ctx context.Context, reg Registration, request reconcile.Request) (bool, error) {
	wanted := r.newAccessRequest(reg, request)
	var cluster *clustersv1alpha1.ObjectReference
	deleting := "" // the ClusterRequest of the object, if it is being deleted
	if reg.ExistingCluster != nil {
		key := reg.ExistingCluster(request)
		cluster = &clustersv1alpha1.ObjectReference{Namespace: key.Namespace, Name: key.Name}
		wanted.Spec.ClusterRef = cluster
	} else {
		cr, err := r.clusterRequest(ctx, reg, request)
		if err != nil || cr == nil {
			return false, err
		}
		wanted.Spec.RequestRef = &clustersv1alpha1.ObjectReference{Namespace: cr.Namespace, Name: cr.Name}
		cluster = cr.Status.Cluster
		if reg.Request != nil && !cr.GetDeletionTimestamp().IsZero() {
			deleting = client.ObjectKeyFromObject(cr).String()
		}
	}
	if cluster != nil {
		if err := r.checkClusterExists(ctx, r.grantKey(reg, request), client.ObjectKey{
			Namespace: cluster.Namespace, Name: cluster.Name,
		}); err != nil {
			if deleting != "" && errors.Is(err, serviceprovider.ErrClusterGone) {
				err = errors.Wrapf(err, "ClusterRequest %s is being deleted (without its finalizer %s another cluster "+
					"is requested for a service that is not deleted)", deleting, Finalizer)
			}

			return false, err
		}
	}
	same := func(ar *clustersv1alpha1.AccessRequest) bool {
		return ar.Spec.RequestRef == nil || wanted.Spec.RequestRef == nil ||
			*ar.Spec.RequestRef == *wanted.Spec.RequestRef
	}
	ar, found, err := locate[clustersv1alpha1.AccessRequest](ctx, r, r.reader(), reg, request, same)
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, r.create(ctx, wanted)
	case !ar.GetDeletionTimestamp().IsZero():
		return false, r.removeAccessRequestFinalizer(ctx, ar)
	}
	r.dropOtherGrants(reg, request, ar.Name)
	changed := false
	err = r.takeOver(ctx, ar, reg, request, func() {
		changed = !equality.Semantic.DeepEqual(ar.Spec.Token, wanted.Spec.Token) ||
			!equality.Semantic.DeepEqual(ar.Spec.OIDC, wanted.Spec.OIDC)
		if changed {
			ar.Spec.Token, ar.Spec.OIDC = wanted.Spec.Token, wanted.Spec.OIDC
		}
	})
	if err != nil || changed {
		return false, err
	}

	return r.granted(ctx, reg, request, ar)
}

// removeAccessRequestFinalizer removes our finalizer from an AccessRequest that is being deleted, if it is the last
// finalizer. Access is then requested again. In contrast to a ClusterRequest, an AccessRequest contains nothing of the
// service.
func (r *Requester) removeAccessRequestFinalizer(ctx context.Context, ar *clustersv1alpha1.AccessRequest) error {
	if len(ar.GetFinalizers()) != 1 || !meta.FinalizerExists(ar, Finalizer) {
		return nil
	}
	r.dropGrant(client.ObjectKeyFromObject(ar))

	return resource.NewAPIFinalizer(r.platform.Client(), Finalizer).RemoveFinalizer(ctx, ar)
}

// dropOtherGrants drops the grants for a cluster of an object whose AccessRequest has another name.
func (r *Requester) dropOtherGrants(reg Registration, request reconcile.Request, name string) {
	for _, id := range r.identities(reg, request) {
		key := clusters.Key{Namespace: reg.namespace(request), Name: id.name}
		r.mu.Lock()
		known := id.name != name && r.grants[key] != nil
		r.mu.Unlock()
		if known {
			r.dropGrant(key)
		}
	}
}

// clusterRequest returns the granted ClusterRequest, or nil while it is not granted.
func (r *Requester) clusterRequest(
	ctx context.Context, reg Registration, request reconcile.Request,
) (*clustersv1alpha1.ClusterRequest, error) {
	find := r.existingRequest
	if reg.Request != nil {
		find = r.ownRequest
	}
	cr, err := find(ctx, reg, request)
	switch {
	case err != nil || cr == nil:
		return nil, err
	case cr.Status.Phase == clustersv1alpha1.RequestDenied:
		return nil, errors.Wrapf(serviceprovider.ErrAccessDenied, "ClusterRequest %s", client.ObjectKeyFromObject(cr))
	case cr.Status.Phase != clustersv1alpha1.RequestGranted:
		return nil, nil
	default:
		return cr, nil
	}
}

// ownRequest returns the ClusterRequest of an object, and creates it if it does not exist. Before that it reads from
// the API server, because another program may have created a request with another name that is not in the cache yet.
func (r *Requester) ownRequest(
	ctx context.Context, reg Registration, request reconcile.Request,
) (*clustersv1alpha1.ClusterRequest, error) {
	for _, from := range []client.Reader{r.reader(), r.platform.Client()} {
		cr, found, err := locate[clustersv1alpha1.ClusterRequest](ctx, r, from, reg, request, nil)
		if err != nil {
			return nil, err
		}
		if found && cr.GetDeletionTimestamp().IsZero() {
			err = r.takeOver(ctx, cr, reg, request, nil)
		}
		if found {
			return cr, err
		}
	}

	return nil, r.create(ctx, r.newClusterRequest(reg, request))
}

// existingRequest returns a ClusterRequest of another controller. It returns nil if the request exists, but is not in
// the cache yet.
func (r *Requester) existingRequest(
	ctx context.Context, reg Registration, request reconcile.Request,
) (*clustersv1alpha1.ClusterRequest, error) {
	key := reg.ExistingRequest(request)
	r.addWaiting(key, request)
	cr := &clustersv1alpha1.ClusterRequest{}
	err := r.reader().Get(ctx, key, cr)
	if gone.Answered(err, key.Name) {
		return nil, r.requestNotFound(ctx, &clustersv1alpha1.ClusterRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		})
	}

	return cr, errors.Wrap(err, "cannot get the ClusterRequest")
}

// requestNotFound returns ErrClusterGone if the API server of the platform confirms that a ClusterRequest of another
// controller does not exist. A deletion may then orphan the service, so a stale cache must not cause this error.
func (r *Requester) requestNotFound(ctx context.Context, cr *clustersv1alpha1.ClusterRequest) error {
	absent, err := gone.Confirmed(ctx, r.platform.Client(), cr)
	if absent {
		return errors.Wrapf(serviceprovider.ErrClusterGone, "ClusterRequest %s", client.ObjectKeyFromObject(cr))
	}

	return err
}

// addWaiting records that an object waits for a ClusterRequest of another controller.
func (r *Requester) addWaiting(key client.ObjectKey, request reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[key] == nil {
		r.waiting[key] = map[reconcile.Request]struct{}{}
	}
	r.waiting[key][request] = struct{}{}
}

// create creates a request, and its namespace if it does not exist.
func (r *Requester) create(ctx context.Context, o client.Object) error {
	c := r.platform.Client()
	err := c.Create(ctx, o)
	if gone.Answered(err, o.GetNamespace(), corev1.Resource("namespaces")) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetNamespace()}}
		if err := client.IgnoreAlreadyExists(c.Create(ctx, ns)); err != nil {
			return errors.Wrap(err, "cannot create the namespace of the request")
		}
		err = c.Create(ctx, o)
	}

	// The cache may not contain it yet.
	return errors.Wrap(client.IgnoreAlreadyExists(err), "cannot create the request")
}

// remove deletes a request, and removes our finalizer when it is the last finalizer. It reports whether the request is
// gone. A request with another owner counts as gone.
func (r *Requester) remove(
	ctx context.Context, o client.Object, reg Registration, request reconcile.Request, id identity,
) (bool, error) {
	want := r.metadata(reg, request, id)
	c, key := r.platform.Client(), client.ObjectKey{Namespace: want.Namespace, Name: want.Name}
	err := c.Get(ctx, key, o)
	switch {
	case gone.Answered(err, key.Name):
		return true, nil
	case err != nil:
		return false, errors.Wrap(err, "cannot get the request")
	case !r.isOwned(o, reg, want):
		return true, nil
	case o.GetDeletionTimestamp().IsZero():
		uid := o.GetUID()
		err := c.Delete(ctx, o, client.Preconditions{UID: &uid})
		if err := gone.Ignore(err, key.Name); err != nil {
			return false, errors.Wrap(err, "cannot delete the request")
		}

		return false, nil
	case len(o.GetFinalizers()) == 1 && meta.FinalizerExists(o, Finalizer):
		return true, resource.NewAPIFinalizer(c, Finalizer).RemoveFinalizer(ctx, o)
	default:
		return !meta.FinalizerExists(o, Finalizer) && len(o.GetFinalizers()) == 0, nil
	}
}
