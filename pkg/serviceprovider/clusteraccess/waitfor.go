package clusteraccess

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// Onboarding returns the registration of the onboarding cluster for WaitFor. The ID, such as onboarding-run, is part of
// the names of its requests.
func Onboarding(id string, registration Registration) Registration {
	registration.ID, registration.Request = id, &clustersv1alpha1.ClusterRequestSpec{Purpose: "onboarding"}

	return registration
}

// WaitFor requests access to a cluster, such as the onboarding cluster, for the program itself. It blocks until access
// is granted or the context ends, and returns the connection. Errors to branch on are serviceprovider.ErrAccessDenied
// and ErrAccessNotOwned.
//
// The namespace is the namespace of the program on the platform. WaitFor creates the requests there, with the name
// <controller>--<ID of the registration>, which is also the name that the platform's library uses. The requests remain
// when the program ends.
//
// The connection renews a token. It reads the Secret that contains the kubeconfig once a minute (WithRecheckInterval),
// and when the cluster rejects the token. Cluster.Credentials returns the current and the previous token.
func WaitFor(
	ctx context.Context, platform *clusters.Cluster, controller, namespace string, registration Registration,
	o ...Option,
) (*clusters.Cluster, error) {
	r, err := New(platform, controller, []Registration{registration}, o...)
	if err != nil {
		return nil, err
	}
	s := &programAccess{r: r, reg: registration, meta: metav1.ObjectMeta{
		Namespace: namespace, Name: shortened(strings.ToLower(controller+"--"+registration.ID), maxNameLength),
		Labels: map[string]string{LabelManagedBy: bounded(controller)},
	}}
	tick := time.NewTicker(r.retry)
	defer tick.Stop()
	for {
		c, err := s.connect(ctx)
		if err != nil || c != nil {
			return c, errors.Wrapf(err, "cannot get access to cluster %s", registration.ID)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Wrapf(
				ctx.Err(), "access to cluster %s was not granted by AccessRequest %s/%s", registration.ID, namespace,
				s.meta.Name)
		case <-tick.C:
		}
	}
}

// programAccess is the access of a program to a cluster, for the lifetime of the program.
type programAccess struct {
	r    *Requester
	reg  Registration
	meta metav1.ObjectMeta // of the requests
}

// connect requests access, and returns the connection if it is granted.
func (s *programAccess) connect(ctx context.Context) (*clusters.Cluster, error) {
	ar, err := s.accessRequest(ctx)
	if err != nil || ar == nil {
		return nil, err
	}
	g := &grant{secret: serviceprovider.SecretKeyOf(ar), ar: ar}
	k, err := s.load(ctx, g)
	if gone.Answered(err, g.secret.Name) {
		return nil, nil // the Secret is not in place yet
	}
	if err != nil {
		return nil, err
	}
	c := clusters.New(s.reg.ID).WithRESTConfig(k.RESTConfig)
	if k.RESTConfig.BearerToken != "" {
		b := &renewedToken{s: s, ar: ar, read: s.r.clock.Now()}
		b.setToken(k.RESTConfig.BearerToken)
		c.WithCredentials(b.credentials)
		clusters.OnUnauthorized(k.RESTConfig, func() { b.refused.Store(true) })
		k.RESTConfig.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tokenTransport{next, b} })
	}

	return c, c.InitializeClient(s.reg.Scheme)
}

// load reads the Secret of a grant.
func (s *programAccess) load(ctx context.Context, g *grant) (*clusters.Kubeconfig, error) {
	secret := &corev1.Secret{}
	if err := s.r.platform.Client().Get(ctx, g.secret, secret); err != nil {
		return nil, errors.Wrap(err, "cannot read the Secret of the AccessRequest")
	}

	return s.r.parse(g, secret)
}

// accessRequest returns the AccessRequest of the program, or nil while it is not granted.
func (s *programAccess) accessRequest(ctx context.Context) (*clustersv1alpha1.AccessRequest, error) {
	wanted := &clustersv1alpha1.AccessRequest{
		ObjectMeta: *s.meta.DeepCopy(), Spec: clustersv1alpha1.AccessRequestSpec{Token: s.reg.Token, OIDC: s.reg.OIDC},
	}
	if err := s.setReference(ctx, &wanted.Spec); err != nil || wanted.Spec.ClusterRef == nil &&
		wanted.Spec.RequestRef == nil {
		return nil, err
	}
	ar := &clustersv1alpha1.AccessRequest{}
	found, err := s.find(ctx, ar)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, s.r.create(ctx, wanted)
	case !equality.Semantic.DeepEqual(ar.Spec.Token, wanted.Spec.Token) ||
		!equality.Semantic.DeepEqual(ar.Spec.OIDC, wanted.Spec.OIDC):
		base := ar.DeepCopy()
		ar.Spec.Token, ar.Spec.OIDC = wanted.Spec.Token, wanted.Spec.OIDC

		return nil, errors.Wrap(
			s.r.platform.Client().Patch(ctx, ar, client.MergeFrom(base)), "cannot change the AccessRequest")
	case ar.Status.ObservedGeneration != ar.GetGeneration():
		return nil, nil
	case ar.Status.Phase == clustersv1alpha1.RequestDenied:
		return nil, errors.Wrapf(serviceprovider.ErrAccessDenied, "AccessRequest %s", client.ObjectKeyFromObject(ar))
	case ar.Status.Phase != clustersv1alpha1.RequestGranted || ar.Status.SecretRef == nil:
		return nil, nil
	default:
		return ar, nil
	}
}

// setReference sets the reference to the cluster or the ClusterRequest. It sets neither while the
// ClusterRequest is not granted.
func (s *programAccess) setReference(ctx context.Context, spec *clustersv1alpha1.AccessRequestSpec) error {
	switch {
	case s.reg.ExistingCluster != nil:
		key := s.reg.ExistingCluster(reconcile.Request{})
		spec.ClusterRef = &clustersv1alpha1.ObjectReference{Namespace: key.Namespace, Name: key.Name}

		return nil
	case s.reg.ExistingRequest != nil:
		key := s.reg.ExistingRequest(reconcile.Request{})
		spec.RequestRef = &clustersv1alpha1.ObjectReference{Namespace: key.Namespace, Name: key.Name}

		return nil
	}
	cr := &clustersv1alpha1.ClusterRequest{}
	found, err := s.find(ctx, cr)
	switch {
	case err != nil:
		return err
	case !found:
		return s.r.create(ctx, &clustersv1alpha1.ClusterRequest{ObjectMeta: *s.meta.DeepCopy(), Spec: *s.reg.Request})
	case cr.Status.Phase == clustersv1alpha1.RequestDenied:
		return errors.Wrapf(serviceprovider.ErrAccessDenied, "ClusterRequest %s", client.ObjectKeyFromObject(cr))
	case cr.Status.Phase == clustersv1alpha1.RequestGranted:
		spec.RequestRef = &clustersv1alpha1.ObjectReference{Namespace: cr.Namespace, Name: cr.Name}
	}

	return nil
}

// find reads a request of the program, and reports whether there is one.
func (s *programAccess) find(ctx context.Context, o client.Object) (bool, error) {
	key := client.ObjectKey{Namespace: s.meta.Namespace, Name: s.meta.Name}
	err := s.r.platform.Client().Get(ctx, key, o)
	switch {
	case gone.Answered(err, key.Name):
		return false, nil
	case err != nil:
		return false, errors.Wrap(err, "cannot get the request")
	case !strings.EqualFold(o.GetLabels()[LabelManagedBy], s.meta.Labels[LabelManagedBy]):
		return false, errors.Wrapf(serviceprovider.ErrAccessNotOwned, "%s %s", kind(o), key)
	default:
		return true, nil
	}
}

// renewedToken is a token that is renewed.
type renewedToken struct {
	s       *programAccess
	ar      *clustersv1alpha1.AccessRequest
	tokens  atomic.Pointer[[]string] // the current and the previous one
	refused atomic.Bool              // the cluster has rejected it

	mu   sync.Mutex // held while the Secret is read
	read time.Time
}

// current returns the current token. If the Secret is due, one request reads it, and concurrent requests use the
// current token meanwhile.
func (b *renewedToken) current(ctx context.Context) string {
	if b.mu.TryLock() {
		defer b.mu.Unlock()
		since := b.s.r.clock.Since(b.read)
		if since >= b.s.r.recheck || since >= minRereadInterval && b.refused.Load() {
			b.renew(ctx)
		}
	}

	return (*b.tokens.Load())[0]
}

// setToken sets the current token, and stores the previous token.
func (b *renewedToken) setToken(token string) {
	tokens := []string{token}
	if before := b.tokens.Load(); before != nil {
		if (*before)[0] == token {
			return
		}
		tokens = append(tokens, (*before)[0])
	}
	b.tokens.Store(&tokens)
}

// credentials returns the current token and the previous token. Requests in progress may still use the previous token.
func (b *renewedToken) credentials() [][]byte {
	var all [][]byte
	for _, token := range *b.tokens.Load() {
		all = append(all, []byte(token))
	}

	return all
}

// renew reads the token. After an error the current token stays in use.
func (b *renewedToken) renew(ctx context.Context) {
	b.read = b.s.r.clock.Now()
	b.refused.Store(false)
	k, err := b.s.load(ctx, &grant{secret: serviceprovider.SecretKeyOf(b.ar), ar: b.ar})
	switch {
	case err != nil:
		key := client.ObjectKeyFromObject(b.ar)
		b.s.r.logger.Info(
			msgCredentialsUnavailable, "accessRequest", key.String(), "error",
			redact.NewMask(b.credentials()...).Error(b.s.r.redact(key, err)))
	case k.RESTConfig.BearerToken != "":
		b.setToken(k.RESTConfig.BearerToken)
	}
}

// tokenTransport is a transport that sends the current token.
type tokenTransport struct {
	next http.RoundTripper
	b    *renewedToken
}

var _ utilnet.RoundTripperWrapper = &tokenTransport{}

// RoundTrip sends a request.
func (t *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.b.current(r.Context()))

	return t.next.RoundTrip(r)
}

// WrappedRoundTripper returns the next transport, so that idle connections can be closed.
func (t *tokenTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
