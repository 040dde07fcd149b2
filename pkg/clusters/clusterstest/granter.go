package clusterstest

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	granterFinalizer = "clusters.openmcp.cloud/granter"
	minTokenTTL      = 10 * time.Minute // API servers issue no shorter tokens
)

// A Granter takes the role of the platform: it grants or denies ClusterRequests and AccessRequests. It is for tests and
// demos, because it holds administrators' configurations of all clusters.
//
// For each AccessRequest, the Granter creates a service account in the cluster, with the requested permissions. It
// writes a kubeconfig with a token of this service account to a Secret, and renews the token after half of its
// validity. When the AccessRequest is deleted, the Granter deletes everything that it has created for the
// AccessRequest.
//
// A token becomes invalid when it expires, or when Rotate replaces it. The API server may still accept a replaced token
// for ten seconds, because it caches successful authentications.
type Granter struct {
	// ClusterFor returns an administrator's configuration of the cluster for a ClusterRequest. It returns false to deny
	// the request. It is required.
	ClusterFor func(request client.ObjectKey) (*rest.Config, bool)

	// Deny returns the reason why an AccessRequest is denied, or "" to grant it. By default all are granted.
	Deny func(request client.ObjectKey) string

	// TokenTTL is the validity of a token. The default is an hour. An API server issues tokens for at least ten minutes,
	// so the Granter itself ends shorter tokens. If the Granter stops before it has ended such a token, the token is valid
	// for ten minutes.
	TokenTTL time.Duration

	// TTLFor returns the validity of the tokens for an AccessRequest. If it is nil, or returns no positive value, the
	// validity is TokenTTL. It may be called concurrently.
	TTLFor func(request client.ObjectKey) time.Duration

	// Workers is the number of requests that are handled at the same time. The default is one.
	Workers int

	client client.Client
	live   client.Reader // not cached, so that no request is granted twice

	mu     sync.Mutex // guards what follows
	grants map[types.UID]*granted
}

// granted holds the tokens of an AccessRequest.
type granted struct {
	mu     sync.Mutex // guards what follows; held while one is made
	tokens []token
}

// ttl returns the validity of the tokens for an AccessRequest.
func (g *Granter) ttl(ar *clustersv1alpha1.AccessRequest) time.Duration {
	if g.TTLFor != nil {
		if ttl := g.TTLFor(client.ObjectKeyFromObject(ar)); ttl > 0 {
			return ttl
		}
	}

	return g.TokenTTL
}

// of returns the tokens of an AccessRequest.
func (g *Granter) of(ar *clustersv1alpha1.AccessRequest) *granted {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.grants == nil {
		g.grants = map[types.UID]*granted{}
	}
	if g.grants[ar.UID] == nil {
		g.grants[ar.UID] = &granted{}
	}

	return g.grants[ar.UID]
}

func (g *Granter) forget(ar *clustersv1alpha1.AccessRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.grants, ar.UID)
}

// SetupWithManager adds the granter to a manager of the platform cluster. The scheme of the manager must contain
// clustersv1alpha1 and the built-in kinds of Kubernetes.
func (g *Granter) SetupWithManager(m manager.Manager) error {
	g.client, g.live = m.GetClient(), m.GetAPIReader()
	if g.TokenTTL <= 0 {
		g.TokenTTL = time.Hour
	}
	o := controller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: g.Workers}
	err := builder.ControllerManagedBy(m).Named("granter-clusters").For(&clustersv1alpha1.ClusterRequest{}).
		WithOptions(o).Complete(reconcile.Func(g.cluster))
	if err != nil {
		return errors.Wrap(err, "cannot set up the granter of clusters")
	}
	err = builder.ControllerManagedBy(m).Named("granter-access").For(&clustersv1alpha1.AccessRequest{}).
		WithOptions(o).Complete(reconcile.Func(g.access))

	return errors.Wrap(err, "cannot set up the granter of access")
}

// cluster grants or denies a ClusterRequest.
func (g *Granter) cluster(ctx context.Context, r reconcile.Request) (ctrl.Result, error) {
	cr := &clustersv1alpha1.ClusterRequest{}
	if err := g.client.Get(ctx, r.NamespacedName, cr); err != nil {
		return ctrl.Result{}, gone.Ignore(err, r.Name)
	}
	cluster := &clustersv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: cr.Namespace, Name: cr.Name}}
	cluster.Spec.Purposes = []string{cr.Spec.Purpose}
	if !cr.GetDeletionTimestamp().IsZero() {
		if err := gone.Ignore(g.client.Delete(ctx, cluster), cluster.GetName()); err != nil {
			return ctrl.Result{}, err
		}

		return g.finalize(ctx, cr)
	}
	if cr.Status.Phase != "" && cr.Status.Phase != clustersv1alpha1.RequestPending {
		return ctrl.Result{}, nil
	}
	if err := g.hold(ctx, cr); err != nil {
		return again(err)
	}
	base := cr.DeepCopy()
	if _, ok := g.ClusterFor(r.NamespacedName); ok {
		if err := client.IgnoreAlreadyExists(g.client.Create(ctx, cluster)); err != nil {
			return ctrl.Result{}, err
		}
		cr.Status.Phase = clustersv1alpha1.RequestGranted
		cr.Status.Cluster = &clustersv1alpha1.ObjectReference{Namespace: cluster.Namespace, Name: cluster.Name}
	} else {
		cr.Status.Phase = clustersv1alpha1.RequestDenied
	}
	cr.Status.ObservedGeneration = cr.Generation

	return again(g.client.Status().Patch(ctx, cr, client.MergeFrom(base)))
}

// access grants or denies an AccessRequest, and renews its token.
func (g *Granter) access(ctx context.Context, r reconcile.Request) (ctrl.Result, error) {
	ar := &clustersv1alpha1.AccessRequest{}
	if err := g.live.Get(ctx, r.NamespacedName, ar); err != nil {
		return ctrl.Result{}, gone.Ignore(err, r.Name)
	}
	config, phase, err := g.answer(ctx, ar)
	switch {
	case !ar.GetDeletionTimestamp().IsZero():
		if config != nil {
			if err := revoke(ctx, config, ar); err != nil {
				return ctrl.Result{}, err
			}
		}
		g.forget(ar)

		return g.finalize(ctx, ar)
	case err != nil:
		return ctrl.Result{}, err
	case phase == clustersv1alpha1.RequestPending:
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err := g.hold(ctx, ar); err != nil {
		return again(err)
	}
	var left time.Duration
	if phase == clustersv1alpha1.RequestGranted {
		if left, err = g.renew(ctx, config, ar); err != nil {
			return ctrl.Result{}, err
		}
	}
	base := ar.DeepCopy()
	ar.Status.Phase, ar.Status.ObservedGeneration, ar.Status.SecretRef = phase, ar.Generation, nil
	if phase == clustersv1alpha1.RequestGranted {
		ar.Status.SecretRef = &clustersv1alpha1.LocalObjectReference{Name: secretName(ar)}
	}
	if err := g.client.Status().Patch(ctx, ar, client.MergeFrom(base)); err != nil {
		return again(err)
	}

	return ctrl.Result{RequeueAfter: left}, nil
}

// answer returns the configuration of the cluster of an AccessRequest, and the phase of the AccessRequest.
func (g *Granter) answer(ctx context.Context, ar *clustersv1alpha1.AccessRequest) (*rest.Config, string, error) {
	ref := ar.Spec.ClusterRef
	if ref == nil {
		ref = ar.Spec.RequestRef
	}
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	config, ok := g.ClusterFor(key)
	switch {
	case !ok, g.Deny != nil && g.Deny(client.ObjectKeyFromObject(ar)) != "":
		return config, clustersv1alpha1.RequestDenied, nil
	case ar.Spec.ClusterRef != nil:
		return config, clustersv1alpha1.RequestGranted, nil
	}
	cr := &clustersv1alpha1.ClusterRequest{}
	if err := g.client.Get(ctx, key, cr); err != nil {
		return config, clustersv1alpha1.RequestPending, gone.Ignore(err, key.Name)
	}
	if cr.Status.Phase != clustersv1alpha1.RequestGranted {
		return config, clustersv1alpha1.RequestPending, nil
	}

	return config, clustersv1alpha1.RequestGranted, nil
}

// renew issues a new token if half of the validity of the current token is over. It ends expired tokens, and returns
// the time until the next renewal.
func (g *Granter) renew(
	ctx context.Context, config *rest.Config, ar *clustersv1alpha1.AccessRequest,
) (time.Duration, error) {
	of := g.of(ar)
	of.mu.Lock()
	defer of.mu.Unlock()
	secret := &corev1.Secret{}
	err := g.live.Get(ctx, client.ObjectKey{Namespace: ar.Namespace, Name: secretName(ar)}, secret)
	left := expiration(secret).Sub(clock.RealClock{}.Now()) - g.ttl(ar)/2
	switch {
	case gone.Ignore(err, secretName(ar)) != nil:
		return 0, err
	case err != nil || ar.Status.ObservedGeneration != ar.Generation || left <= 0:
		left = g.ttl(ar) / 2
		if err := g.issue(ctx, config, ar, of); err != nil {
			return 0, err
		}
	}
	next, err := of.expire(ctx, config, ar)

	return min(left, next), err
}

// expire ends the expired tokens, and returns the time until the next token expires, which is at most an hour.
func (of *granted) expire(
	ctx context.Context, config *rest.Config, ar *clustersv1alpha1.AccessRequest,
) (time.Duration, error) {
	now, next, ended := clock.RealClock{}.Now(), time.Hour, map[string]bool{}
	for _, t := range of.tokens {
		if left := t.expires.Sub(now); left <= 0 {
			ended[t.secret] = true
		} else {
			next = min(next, left)
		}
	}
	if len(ended) == 0 {
		return next, nil
	}
	if err := end(ctx, config, ar, func(secret string) bool { return !ended[secret] }); err != nil {
		return 0, err
	}
	of.tokens = slices.DeleteFunc(of.tokens, func(t token) bool { return ended[t.secret] })

	return next, nil
}

// Rotate issues new credentials for an AccessRequest now, and invalidates the previous credentials. The Granter has to
// be running.
func (g *Granter) Rotate(ctx context.Context, request client.ObjectKey) error {
	ar := &clustersv1alpha1.AccessRequest{}
	if err := g.client.Get(ctx, request, ar); err != nil {
		return errors.Wrap(err, "cannot get the AccessRequest")
	}
	config, _, err := g.answer(ctx, ar)
	if err != nil {
		return err
	}
	of := g.of(ar)
	of.mu.Lock()
	defer of.mu.Unlock()
	if err := g.issue(ctx, config, ar, of); err != nil {
		return err
	}
	newest := of.tokens[len(of.tokens)-1]
	of.tokens = []token{newest}

	return end(ctx, config, ar, func(secret string) bool { return secret == newest.secret })
}

// issue issues a token and writes it to the Secret.
func (g *Granter) issue(
	ctx context.Context, config *rest.Config, ar *clustersv1alpha1.AccessRequest, of *granted,
) error {
	kubeconfig, made, err := grant(ctx, config, ar, g.ttl(ar))
	if err != nil {
		return errors.Wrap(err, "cannot grant access")
	}
	of.tokens = append(of.tokens, made)

	return errors.Wrap(g.put(ctx, ar, map[string][]byte{
		"kubeconfig": kubeconfig, "expirationTimestamp": stamp(made.expires),
	}), "cannot write the Secret")
}

// put writes the Secret of an AccessRequest. It reads the Secret from the API server, because Secrets should not be
// cached.
func (g *Granter) put(ctx context.Context, ar *clustersv1alpha1.AccessRequest, data map[string][]byte) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ar.Namespace, Name: secretName(ar)}}
	err := g.live.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if gone.Ignore(err, secretName(ar)) != nil {
		return err
	}
	base := secret.DeepCopy()
	secret.Data = data
	if err := controllerutil.SetOwnerReference(ar, secret, g.client.Scheme()); err != nil {
		return err
	}
	if err != nil {
		return g.client.Create(ctx, secret)
	}

	return g.client.Patch(ctx, secret, client.MergeFrom(base))
}

func (g *Granter) hold(ctx context.Context, o client.Object) error {
	base, ok := o.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.AddFinalizer(o, granterFinalizer) {
		return nil
	}

	return g.client.Patch(ctx, o, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}

func (g *Granter) finalize(ctx context.Context, o client.Object) (ctrl.Result, error) {
	base, ok := o.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.RemoveFinalizer(o, granterFinalizer) {
		return ctrl.Result{}, nil
	}
	err := g.client.Patch(ctx, o, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))

	return again(gone.IgnoreConfirmed(ctx, g.live, o, err))
}

// again requeues after a conflict with the write of another client.
func again(err error) (ctrl.Result, error) {
	if kerrors.IsConflict(err) || gone.Named(err) {
		return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}

	return ctrl.Result{}, err
}
