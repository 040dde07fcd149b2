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

// metadata returns that of the requests for a cluster of an object. What does not fit
// into a label is whole in an annotation.
func (r *Requester) metadata(reg Registration, request reconcile.Request, id identity) metav1.ObjectMeta {
	of := map[string]string{LabelOnboardingName: request.Name, LabelOnboardingNamespace: request.Namespace}
	labels := map[string]string{LabelManagedBy: bounded(id.controller), LabelManagedPurpose: purpose(reg, request)}
	for key, value := range of {
		labels[key] = bounded(value)
	}

	return metav1.ObjectMeta{
		Namespace: reg.namespace(request), Name: id.name, Labels: labels, Annotations: of, Finalizers: []string{Finalizer},
	}
}

func (r *Requester) newAccessRequest(reg Registration, request reconcile.Request) *clustersv1alpha1.AccessRequest {
	return &clustersv1alpha1.AccessRequest{
		ObjectMeta: r.metadata(reg, request, r.identities(reg, request)[0]), Spec: clustersv1alpha1.AccessRequestSpec{Token: reg.Token, OIDC: reg.OIDC},
	}
}

func (r *Requester) newClusterRequest(reg Registration, request reconcile.Request) *clustersv1alpha1.ClusterRequest {
	return &clustersv1alpha1.ClusterRequest{ObjectMeta: r.metadata(reg, request, r.identities(reg, request)[0]), Spec: *reg.Request}
}

// objectOf returns the object that a request was made for: as its annotations have it, or else
// its labels, which are whole where another program has made it.
func objectOf(o client.Object) reconcile.Request {
	of := o.GetAnnotations()
	if of[LabelOnboardingName] == "" {
		of = o.GetLabels()
	}

	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: of[LabelOnboardingNamespace], Name: of[LabelOnboardingName]}}
}

// ours reports whether a request was made by this controller for this cluster of this object,
// by us, by an earlier version or by the platform's library: that has the object in the
// purpose, and not always in labels of its own.
func (r *Requester) ours(o client.Object, reg Registration, want metav1.ObjectMeta) bool {
	labels := o.GetLabels()
	if !strings.EqualFold(labels[LabelManagedBy], want.Labels[LabelManagedBy]) {
		return false
	}
	_, named := labels[LabelOnboardingName]
	of := labels[LabelOnboardingName] == want.Labels[LabelOnboardingName] && labels[LabelOnboardingNamespace] == want.Labels[LabelOnboardingNamespace]
	if labels[LabelManagedPurpose] == want.Labels[LabelManagedPurpose] {
		return of || !named
	}

	return of && labels[LabelManagedPurpose] == bounded(reg.ID)
}

// locate returns the request for a cluster of an object that is ours, whatever its name, as
// the reader has it. The error is ErrAccessNotOwned if there is none, and the one of the name
// that it would have now is not ours. One of another name counts only if it fits.
func locate[T any, P interface {
	*T
	client.Object
}](ctx context.Context, r *Requester, from client.Reader, reg Registration, request reconcile.Request, fits func(P) bool) (P, bool, error) {
	var foreign error
	for i, id := range r.identities(reg, request) {
		o, key := P(new(T)), client.ObjectKey{Namespace: reg.namespace(request), Name: id.name}
		err := from.Get(ctx, key, o)
		switch {
		case gone.Answered(err, key.Name):
		case err != nil:
			return nil, false, errors.Wrap(err, "cannot get the request")
		case r.ours(o, reg, r.metadata(reg, request, id)) && (i == 0 || fits == nil || fits(o)):
			return o, true, nil
		case i == 0:
			foreign = errors.Wrapf(serviceprovider.ErrAccessNotOwned, "%s %s", kind(o), key)
		}
	}

	return nil, false, foreign
}

func kind(o client.Object) string {
	if _, ok := o.(*clustersv1alpha1.ClusterRequest); ok {
		return "ClusterRequest"
	}

	return "AccessRequest"
}

// takeOver makes the labels and annotations of a request what they are on those that are made
// now, and changes what else is wanted, in one patch. Nothing is sent if that is so already.
func (r *Requester) takeOver(ctx context.Context, o client.Object, reg Registration, request reconcile.Request, change func()) error {
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

// ensure asks for access to one cluster, and reports whether it was granted.
func (r *Requester) ensure(ctx context.Context, reg Registration, request reconcile.Request) (bool, error) {
	wanted := r.newAccessRequest(reg, request)
	var cluster *clustersv1alpha1.ObjectReference
	goes := "" // the ClusterRequest that was made for the object, if somebody deletes it
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
			goes = client.ObjectKeyFromObject(cr).String()
		}
	}
	if cluster != nil {
		if err := r.exists(ctx, r.grantKey(reg, request), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name}); err != nil {
			if goes != "" && errors.Is(err, serviceprovider.ErrClusterGone) {
				err = errors.Wrapf(err, "ClusterRequest %s is being deleted (without its finalizer %s another cluster is requested for a service that is not deleted)", goes, Finalizer)
			}

			return false, err
		}
	}
	same := func(ar *clustersv1alpha1.AccessRequest) bool {
		return ar.Spec.RequestRef == nil || wanted.Spec.RequestRef == nil || *ar.Spec.RequestRef == *wanted.Spec.RequestRef
	}
	ar, found, err := locate[clustersv1alpha1.AccessRequest](ctx, r, r.reader(), reg, request, same)
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, r.create(ctx, wanted)
	case !ar.GetDeletionTimestamp().IsZero():
		return false, r.release(ctx, ar)
	}
	r.loseOthers(reg, request, ar.Name)
	changed := false
	err = r.takeOver(ctx, ar, reg, request, func() {
		changed = !equality.Semantic.DeepEqual(ar.Spec.Token, wanted.Spec.Token) || !equality.Semantic.DeepEqual(ar.Spec.OIDC, wanted.Spec.OIDC)
		if changed {
			ar.Spec.Token, ar.Spec.OIDC = wanted.Spec.Token, wanted.Spec.OIDC
		}
	})
	if err != nil || changed {
		return false, err
	}

	return r.granted(ctx, reg, request, ar)
}

// release lets an AccessRequest go that somebody has deleted, once nobody else keeps it: access is
// asked for anew then. Nothing of a service is in it, other than in a ClusterRequest.
func (r *Requester) release(ctx context.Context, ar *clustersv1alpha1.AccessRequest) error {
	if len(ar.GetFinalizers()) != 1 {
		return nil
	}
	r.lose(client.ObjectKeyFromObject(ar))

	return resource.NewAPIFinalizer(r.platform.Client(), Finalizer).RemoveFinalizer(ctx, ar)
}

// loseOthers forgets grants of a cluster of an object by requests of other names than the one
// that counts.
func (r *Requester) loseOthers(reg Registration, request reconcile.Request, name string) {
	for _, id := range r.identities(reg, request) {
		key := clusters.Key{Namespace: reg.namespace(request), Name: id.name}
		r.mu.Lock()
		known := id.name != name && r.grants[key] != nil
		r.mu.Unlock()
		if known {
			r.lose(key)
		}
	}
}

// clusterRequest returns the one whose cluster is meant, nil while it is waited for.
func (r *Requester) clusterRequest(ctx context.Context, reg Registration, request reconcile.Request) (*clustersv1alpha1.ClusterRequest, error) {
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

// ownRequest returns the ClusterRequest that was made for an object, and makes it if the
// platform has none: a cache may be behind another program that has made one by another name.
func (r *Requester) ownRequest(ctx context.Context, reg Registration, request reconcile.Request) (*clustersv1alpha1.ClusterRequest, error) {
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

// existingRequest returns the ClusterRequest that somebody else has made, nil while it cannot
// be seen.
func (r *Requester) existingRequest(ctx context.Context, reg Registration, request reconcile.Request) (*clustersv1alpha1.ClusterRequest, error) {
	key := reg.ExistingRequest(request)
	r.await(key, request)
	cr := &clustersv1alpha1.ClusterRequest{}
	err := r.reader().Get(ctx, key, cr)
	if gone.Answered(err, key.Name) {
		return nil, r.withoutRequest(ctx, &clustersv1alpha1.ClusterRequest{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	}

	return cr, errors.Wrap(err, "cannot get the ClusterRequest")
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

// remove deletes a request, and lets it go when everybody else has. It reports whether
// it is gone. What belongs to somebody else is.
func (r *Requester) remove(ctx context.Context, o client.Object, reg Registration, request reconcile.Request, id identity) (bool, error) {
	want := r.metadata(reg, request, id)
	c, key := r.platform.Client(), client.ObjectKey{Namespace: want.Namespace, Name: want.Name}
	err := c.Get(ctx, key, o)
	switch {
	case gone.Answered(err, key.Name):
		return true, nil
	case err != nil:
		return false, errors.Wrap(err, "cannot get the request")
	case !r.ours(o, reg, want):
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
