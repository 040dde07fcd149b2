package clusteraccess

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// Metadata returns that of the requests for a cluster of an object. What does not fit
// into a label is whole in an annotation.
func (r *Requester) metadata(reg Registration, request reconcile.Request) metav1.ObjectMeta {
	of := map[string]string{LabelOnboardingName: request.Name, LabelOnboardingNamespace: request.Namespace}
	labels := map[string]string{LabelManagedBy: bounded(r.controller), LabelManagedPurpose: bounded(reg.ID)}
	for key, value := range of {
		labels[key] = bounded(value)
	}

	return metav1.ObjectMeta{
		Namespace: reg.namespace(request), Name: bounded(strings.ToLower(r.controller + "--" + request.Name + "--" + reg.ID)),
		Labels: labels, Annotations: of, Finalizers: []string{Finalizer},
	}
}

func (r *Requester) newAccessRequest(reg Registration, request reconcile.Request) *clustersv1alpha1.AccessRequest {
	return &clustersv1alpha1.AccessRequest{ObjectMeta: r.metadata(reg, request), Spec: clustersv1alpha1.AccessRequestSpec{Token: reg.Token, OIDC: reg.OIDC}}
}

func (r *Requester) newClusterRequest(reg Registration, request reconcile.Request) *clustersv1alpha1.ClusterRequest {
	return &clustersv1alpha1.ClusterRequest{ObjectMeta: r.metadata(reg, request), Spec: *reg.Request}
}

// Object returns the object that a request was made for.
func objectOf(o client.Object) reconcile.Request {
	a := o.GetAnnotations()

	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: a[LabelOnboardingNamespace], Name: a[LabelOnboardingName]}}
}

// Ours reports whether a request was made by this controller for this object.
func (r *Requester) ours(o client.Object, want metav1.ObjectMeta) bool {
	for _, key := range []string{LabelManagedBy, LabelManagedPurpose, LabelOnboardingName, LabelOnboardingNamespace} {
		if o.GetLabels()[key] != want.Labels[key] {
			return false
		}
	}

	return true
}

// Ensure asks for access to one cluster, and reports whether it was granted.
func (r *Requester) ensure(ctx context.Context, reg Registration, request reconcile.Request) (bool, error) {
	ar := r.newAccessRequest(reg, request)
	want := ar.ObjectMeta
	var cluster *clustersv1alpha1.ObjectReference
	if reg.ExistingCluster != nil {
		key := reg.ExistingCluster(request)
		cluster = &clustersv1alpha1.ObjectReference{Namespace: key.Namespace, Name: key.Name}
		ar.Spec.ClusterRef = cluster
	} else {
		cr, err := r.clusterRequest(ctx, reg, request)
		if err != nil || cr == nil {
			return false, err
		}
		ar.Spec.RequestRef = &clustersv1alpha1.ObjectReference{Namespace: cr.Namespace, Name: cr.Name}
		cluster = cr.Status.Cluster
	}
	if cluster != nil {
		if err := r.exists(ctx, client.ObjectKeyFromObject(ar), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name}); err != nil {
			return false, err
		}
	}
	wanted := ar.Spec
	err := r.reader().Get(ctx, client.ObjectKeyFromObject(ar), ar)
	switch {
	case gone.Answered(err, want.Name):
		return false, r.create(ctx, &clustersv1alpha1.AccessRequest{ObjectMeta: want, Spec: wanted})
	case err != nil:
		return false, errors.Wrap(err, "cannot get the AccessRequest")
	case !r.ours(ar, want):
		return false, errors.Wrapf(serviceprovider.ErrAccessNotOwned, "AccessRequest %s", client.ObjectKeyFromObject(ar))
	case !ar.GetDeletionTimestamp().IsZero():
		return false, nil
	}
	if !equality.Semantic.DeepEqual(ar.Spec.Token, wanted.Token) || !equality.Semantic.DeepEqual(ar.Spec.OIDC, wanted.OIDC) {
		return false, r.change(ctx, ar, wanted)
	}

	return r.granted(ctx, reg, request, ar)
}

// ClusterRequest returns the one whose cluster is meant, nil while it is waited for.
func (r *Requester) clusterRequest(ctx context.Context, reg Registration, request reconcile.Request) (*clustersv1alpha1.ClusterRequest, error) {
	cr := &clustersv1alpha1.ClusterRequest{}
	if reg.Request != nil {
		cr = r.newClusterRequest(reg, request)
	} else {
		key := reg.ExistingRequest(request)
		cr.Namespace, cr.Name = key.Namespace, key.Name
		r.await(key, request)
	}
	want := cr.DeepCopy()
	err := r.reader().Get(ctx, client.ObjectKeyFromObject(cr), cr)
	switch {
	case gone.Answered(err, want.Name) && reg.Request != nil:
		return nil, r.create(ctx, want)
	case gone.Answered(err, want.Name):
		return nil, r.withoutRequest(ctx, want)
	case err != nil:
		return nil, errors.Wrap(err, "cannot get the ClusterRequest")
	case reg.Request != nil && !r.ours(cr, want.ObjectMeta):
		return nil, errors.Wrapf(serviceprovider.ErrAccessNotOwned, "ClusterRequest %s", client.ObjectKeyFromObject(cr))
	case cr.Status.Phase == clustersv1alpha1.RequestDenied:
		return nil, errors.Wrapf(serviceprovider.ErrAccessDenied, "ClusterRequest %s", client.ObjectKeyFromObject(cr))
	case cr.Status.Phase != clustersv1alpha1.RequestGranted:
		return nil, nil
	default:
		return cr, nil
	}
}

// WithoutRequest returns what it means that the reader does not have a ClusterRequest of
// somebody else: that a cluster is gone if the platform has none either, since a deletion
// may forget what was in it, and nothing while the cache is behind.
func (r *Requester) withoutRequest(ctx context.Context, cr *clustersv1alpha1.ClusterRequest) error {
	absent, err := gone.Confirmed(ctx, r.platform.Client(), cr)
	if absent {
		return errors.Wrapf(serviceprovider.ErrClusterGone, "ClusterRequest %s", client.ObjectKeyFromObject(cr))
	}

	return err
}

// Await remembers that an object waits for a ClusterRequest of somebody else.
func (r *Requester) await(key client.ObjectKey, request reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[key] == nil {
		r.waiting[key] = map[reconcile.Request]struct{}{}
	}
	r.waiting[key][request] = struct{}{}
}

// Create creates a request, and its namespace if need be.
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

	// The cache may not show it yet.
	return errors.Wrap(client.IgnoreAlreadyExists(err), "cannot create the request")
}

// Change asks for something else than before.
func (r *Requester) change(ctx context.Context, ar *clustersv1alpha1.AccessRequest, wanted clustersv1alpha1.AccessRequestSpec) error {
	base := ar.DeepCopy()
	ar.Spec.Token, ar.Spec.OIDC = wanted.Token, wanted.OIDC

	return errors.Wrap(r.platform.Client().Patch(ctx, ar, client.MergeFrom(base)), "cannot change the AccessRequest")
}

// Remove deletes a request, and lets it go when everybody else has. It reports whether
// it is gone. What belongs to somebody else is.
func (r *Requester) remove(ctx context.Context, o client.Object) (bool, error) {
	want := metav1.ObjectMeta{Labels: o.GetLabels()}
	c, key := r.platform.Client(), client.ObjectKeyFromObject(o)
	err := c.Get(ctx, key, o)
	switch {
	case gone.Answered(err, key.Name):
		return true, nil
	case err != nil:
		return false, errors.Wrap(err, "cannot get the request")
	case !r.ours(o, want):
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
