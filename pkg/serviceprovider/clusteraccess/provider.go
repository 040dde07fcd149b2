package clusteraccess

import (
	"context"
	"strings"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// Labels and the finalizer of the requests that are created. The platform defines these names.
const (
	LabelManagedBy           = "openmcp.cloud/managed-by"
	LabelManagedPurpose      = "openmcp.cloud/managed-purpose"
	LabelOnboardingName      = "openmcp.cloud/onboarding-name"
	LabelOnboardingNamespace = "openmcp.cloud/onboarding-namespace"
	Finalizer                = "clusters.openmcp.cloud/clusteraccess"
)

// An Option configures the Requester that New returns.
type Option func(*Requester)

// WithRetryInterval sets the interval at which the provider checks requests that are not granted yet. The default is
// ten seconds. A value that is not positive is ignored.
func WithRetryInterval(d time.Duration) Option {
	return func(r *Requester) {
		if d > 0 {
			r.retry = d
		}
	}
}

// WithRecheckInterval sets the interval at which the provider reads the Secrets that contain kubeconfigs, without an
// event. The default is a minute. A value that is not positive is ignored.
func WithRecheckInterval(d time.Duration) Option {
	return func(r *Requester) {
		if d > 0 {
			r.recheck = d
		}
	}
}

// WithRewriteRESTConfig sets a function that modifies the configuration of each connection before it is used. For
// instance, the function can replace the address of a cluster for debugging. If the function returns an error, the pass
// fails with this error. The function must not call Reconcile for the object of the AccessRequest. The Secret is locked
// while the function runs, so such a call would block until the context of the call ends.
func WithRewriteRESTConfig(rewrite func(ar *clustersv1alpha1.AccessRequest, config *rest.Config) error) Option {
	return func(r *Requester) { r.rewrite = rewrite }
}

// WithLogger sets the logger. By default nothing is logged.
func WithLogger(l logging.Logger) Option { return func(r *Requester) { r.logger = l } }

// WithClock sets the clock. The default is the real clock.
func WithClock(c clock.PassiveClock) Option { return func(r *Requester) { r.clock = c } }

// WithBuild sets the function that builds a connection. The default builds a clusters.Cluster with
// a client.
func WithBuild(build func(ctx context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error)) Option {
	return func(r *Requester) { r.build = build }
}

// WithFormerNames sets the former names of the controller, the latest first. By default there are none. The provider
// uses requests that were created under a former name of the controller. It deletes such a request when the object is
// deleted. It does not rename the requests, so the controller can get its former name back.
//
// If a former name is not passed to WithFormerNames, requests under the missing name remain on the platform. If a
// workload cluster was requested under the missing name, the deletion of its object is blocked.
func WithFormerNames(names ...string) Option {
	return func(r *Requester) { r.former = append([]string(nil), names...) }
}

// A Requester requests access from the platform. It implements serviceprovider.ClusterAccessProvider, AccessDetailer,
// AccessWatcher and ClusterChecker. Create one with New, and call Close at the end. It may be used concurrently for
// different objects.
type Requester struct {
	standardClusters

	platform   *clusters.Cluster
	controller string
	former     []string // names of the controller
	registered []Registration
	retry      time.Duration
	recheck    time.Duration
	rewrite    func(*clustersv1alpha1.AccessRequest, *rest.Config) error
	build      func(context.Context, clusters.Key, clusters.Input) (*clusters.Cluster, error)
	logger     logging.Logger
	clock      clock.PassiveClock
	cache      *clusters.Cache[*clusters.Cluster]

	mu           sync.Mutex // guards what follows
	grants       map[clusters.Key]*grant
	waiting      map[client.ObjectKey]map[reconcile.Request]struct{} // objects that wait for ClusterRequests
	cachedReader cache.Cache                                         // nil before AccessSources
	listAllowed  *bool                                               // whether the role may list clusters; nil if unknown

	secrets     secretWatch
	secretLocks map[clusters.Key]chan struct{} // grants whose Secret is being read; the channel is closed afterwards
}

// grant is the state of a granted AccessRequest.
type grant struct {
	request reconcile.Request
	scheme  string // ID of the registration
	version string // version of the AccessRequest for which the Secret was read
	secret  client.ObjectKey
	expires time.Time
	ar      *clustersv1alpha1.AccessRequest

	read          time.Time // when the Secret was read
	secretVersion string
	invalid       error // why it cannot be used
}

// New returns a provider that requests access from the platform for a controller. The name of the controller is part of
// the name of each request. If the controller was renamed, use WithFormerNames. The scheme of the platform's client
// must contain clustersv1alpha1. New returns an error if a registration is incomplete or ambiguous.
func New(platform *clusters.Cluster, controller string, registrations []Registration, o ...Option) (*Requester, error) {
	if platform == nil || !platform.HasClient() || controller == "" {
		return nil, errors.New("cannot ask for access without a platform with a client, and a name")
	}
	seen := map[string]bool{}
	for _, reg := range registrations {
		if err := reg.validate(); err != nil {
			return nil, errors.Wrap(err, "cannot ask for access")
		}
		if seen[reg.ID] {
			return nil, errors.Errorf("cannot ask for access: %s is registered twice", reg.ID)
		}
		suffix := "--" + strings.ToLower(reg.suffix())
		if seen[suffix] {
			return nil, errors.Errorf(
				"cannot ask for access: the requests of %s have the names of those of another registration", reg.ID)
		}
		seen[reg.ID], seen[suffix] = true, true
	}
	r := &Requester{
		platform: platform, controller: controller, registered: append([]Registration(nil), registrations...),
		retry: 10 * time.Second, recheck: time.Minute, logger: logging.NewNopLogger(), clock: clock.RealClock{},
		grants: map[clusters.Key]*grant{}, waiting: map[client.ObjectKey]map[reconcile.Request]struct{}{},
		secrets: newSecretWatch(), secretLocks: map[clusters.Key]chan struct{}{},
	}
	r.standardClusters, r.build = standardClusters{r}, r.connect
	for _, set := range o {
		set(r)
	}
	r.cache = clusters.NewCache(func(ctx context.Context, key clusters.Key,
		in clusters.Input) (*clusters.Cluster, error) {
		return r.build(ctx, key, in)
	}, clusters.CacheOptions[*clusters.Cluster]{Close: (*clusters.Cluster).Close})

	return r, nil
}

// Close closes all connections.
func (r *Requester) Close() { r.cache.Close() }

// Connections returns the cache of the connections of all objects. The keys of the cache are the names of the
// AccessRequests. Controllers that keep state per connection use the cache: see clusters.Manager. A listener of the
// cache should enqueue objects, as Manager.Source does. It must not call Reconcile for an object whose connection is
// being replaced, because such a call would block until the context of the call ends.
func (r *Requester) Connections() *clusters.Cache[*clusters.Cluster] { return r.cache }

// connect builds a connection.
func (r *Requester) connect(_ context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
	r.mu.Lock()
	g := r.grants[key]
	r.mu.Unlock()
	c := clusters.New(key.String()).WithRESTConfig(in.RESTConfig)
	for _, reg := range r.registered {
		if g != nil && reg.ID == g.scheme {
			return c, c.InitializeClient(reg.Scheme)
		}
	}

	return nil, clusters.ErrNotFound
}

// Reconcile requests access to all clusters of an object. Reconcile does not wait for the access. If access is not
// granted yet, Reconcile sets RequeueAfter in the result. Errors to branch on are serviceprovider.ErrAccessDenied,
// ErrClusterGone and ErrAccessNotOwned.
func (r *Requester) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ready := true
	for _, reg := range r.registered {
		// Access to all clusters is requested before the pass waits for any of them.
		granted, err := r.ensure(ctx, reg, request)
		if err != nil {
			return reconcile.Result{}, errors.Wrapf(err, "cannot get access to cluster %s", reg.ID)
		}
		ready = ready && granted
	}
	if !ready {
		return reconcile.Result{RequeueAfter: r.retry}, nil
	}

	return reconcile.Result{}, nil
}

// CheckClusters returns serviceprovider.ErrClusterGone if a ClusterRequest of the object does not exist under any of
// its possible names. In this case Reconcile would request another cluster.
func (r *Requester) CheckClusters(ctx context.Context, request reconcile.Request, _ ...any) error {
	for _, reg := range r.registered {
		if reg.Request == nil {
			continue
		}
		_, found, err := locate[clustersv1alpha1.ClusterRequest](ctx, r, r.platform.Client(), reg, request, nil)
		if err == nil && !found {
			err = errors.Wrapf(serviceprovider.ErrClusterGone,
				"ClusterRequest %s does not exist, and was not asked for by one of clusteraccess.WithFormerNames",
				client.ObjectKeyFromObject(r.newClusterRequest(reg, request)))
		}
		if err != nil {
			return errors.Wrapf(err, "cannot get access to cluster %s", reg.ID)
		}
	}

	return nil
}

// ReconcileDelete deletes the AccessRequests of the object, and then the ClusterRequests that were created for the
// object. It deletes the requests under the current name and under all former names of the controller.
func (r *Requester) ReconcileDelete(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	for _, empty := range []func(Registration) client.Object{
		func(Registration) client.Object { return &clustersv1alpha1.AccessRequest{} },
		func(reg Registration) client.Object {
			if reg.Request == nil {
				return nil
			}

			return &clustersv1alpha1.ClusterRequest{}
		},
	} {
		left := false
		for _, reg := range r.registered {
			if empty(reg) == nil {
				continue
			}
			for _, id := range r.identities(reg, request) {
				gone, err := r.remove(ctx, empty(reg), reg, request, id)
				if err != nil {
					return reconcile.Result{}, errors.Wrapf(err, "cannot give back access to cluster %s", reg.ID)
				}
				left = left || !gone
			}
		}
		if left {
			return reconcile.Result{RequeueAfter: r.retry}, nil
		}
	}
	r.forget(request)

	return reconcile.Result{}, nil
}

// Access returns the connection to the cluster with the ID.
func (r *Requester) Access(ctx context.Context, request reconcile.Request, id string) (serviceprovider.Access, error) {
	reg, err := r.registration(id)
	if err != nil {
		return serviceprovider.Access{}, err
	}
	key := r.grantKey(reg, request)
	c, rev, err := r.cache.Get(ctx, key)
	if err != nil {
		return serviceprovider.Access{}, errors.Wrapf(r.redact(key, err), "cannot connect to cluster %s", id)
	}
	in, _ := r.cache.Known(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	a := serviceprovider.Access{Cluster: c, Revision: rev, Key: key, Expires: in.Expires}
	if g := r.grants[key]; g != nil {
		a.SecretKey, a.UID = g.secret, g.ar.GetUID()
	}

	return a, nil
}

// AccessRequest reads the AccessRequest for a cluster of an object. If the AccessRequest does not exist, or belongs to
// another owner, the error is a Kubernetes not-found error. If the ClusterRequest of the object is being deleted, this
// error also wraps serviceprovider.ErrAccessWithdrawn.
func (r *Requester) AccessRequest(
	ctx context.Context, request reconcile.Request, id string,
) (*clustersv1alpha1.AccessRequest, error) {
	reg, err := r.registration(id)
	if err != nil {
		return nil, err
	}
	ar, found, err := locate[clustersv1alpha1.AccessRequest](ctx, r, r.platform.Client(), reg, request, nil)
	if err != nil && !errors.Is(err, serviceprovider.ErrAccessNotOwned) {
		return nil, err
	}
	if found {
		return ar, nil
	}
	missing := kerrors.NewNotFound(
		clustersv1alpha1.GroupVersion.WithResource("accessrequests").GroupResource(),
		r.newAccessRequest(reg, request).Name)
	withdrawn, err := r.clusterReleased(ctx, reg, request)
	switch {
	case err != nil:
		return nil, err
	case withdrawn:
		return nil, errors.Errorf("%w: %w", serviceprovider.ErrAccessWithdrawn, missing)
	default:
		return nil, missing
	}
}

// clusterReleased reports whether the ClusterRequest of an object is being deleted.
func (r *Requester) clusterReleased(ctx context.Context, reg Registration, request reconcile.Request) (bool, error) {
	if reg.Request == nil {
		return false, nil
	}
	cr, found, err := locate[clustersv1alpha1.ClusterRequest](ctx, r, r.platform.Client(), reg, request, nil)
	if err != nil && !errors.Is(err, serviceprovider.ErrAccessNotOwned) {
		return false, err
	}

	return found && !cr.GetDeletionTimestamp().IsZero(), nil
}

// grantKey returns the key of the granted AccessRequest for a cluster of an object. If there is none, it returns the
// key of a new AccessRequest.
func (r *Requester) grantKey(reg Registration, request reconcile.Request) clusters.Key {
	all, ns := r.identities(reg, request), reg.namespace(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range all {
		if key := (clusters.Key{Namespace: ns, Name: id.name}); r.grants[key] != nil {
			return key
		}
	}

	return clusters.Key{Namespace: ns, Name: all[0].name}
}

// registration returns the registration with an ID.
func (r *Requester) registration(id string) (Registration, error) {
	for _, reg := range r.registered {
		if reg.ID == id {
			return reg, nil
		}
	}

	return Registration{}, errors.Errorf("cluster %q is not registered", id)
}

// reader returns the reader of requests. Before AccessSources it is the client of the platform, and after that the
// cache of the platform.
func (r *Requester) reader() client.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cachedReader != nil {
		return r.cachedReader
	}

	return r.platform.Client()
}

// forget removes the grants of an object and drops their connections.
func (r *Requester) forget(request reconcile.Request) {
	r.mu.Lock()
	var dropped []clusters.Key
	for key, g := range r.grants {
		if g.request == request {
			dropped = append(dropped, key)
			delete(r.grants, key)
			r.unfollow(key)
		}
	}
	for key, objects := range r.waiting {
		delete(objects, request)
		if len(objects) == 0 {
			delete(r.waiting, key)
		}
	}
	r.mu.Unlock()
	for _, key := range dropped {
		r.cache.Drop(key)
	}
}
