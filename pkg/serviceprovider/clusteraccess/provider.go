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
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// Labels and the finalizer of the requests that are created. The names are the
// platform's.
const (
	LabelManagedBy           = "openmcp.cloud/managed-by"
	LabelManagedPurpose      = "openmcp.cloud/managed-purpose"
	LabelOnboardingName      = "openmcp.cloud/onboarding-name"
	LabelOnboardingNamespace = "openmcp.cloud/onboarding-namespace"
	Finalizer                = "clusters.openmcp.cloud/clusteraccess"
)

// An Option of New.
type Option func(*Requester)

// WithRetryInterval is how often to look at requests that are not granted yet, by
// default every ten seconds. Anything not positive is ignored.
func WithRetryInterval(d time.Duration) Option {
	return func(r *Requester) {
		if d > 0 {
			r.retry = d
		}
	}
}

// WithRecheckInterval is how often the Secrets with the kubeconfigs are read even if
// nothing tells that they have changed, by default every minute. Anything not positive is
// ignored.
func WithRecheckInterval(d time.Duration) Option {
	return func(r *Requester) {
		if d > 0 {
			r.recheck = d
		}
	}
}

// WithRewriteRESTConfig lets rewrite change the configuration of each connection before
// it is made, for instance to reach the clusters from elsewhere when debugging. Its
// error is that of the pass. It must not call Reconcile for the object of the request:
// nobody else reads the Secret meanwhile, so that this would wait until its context ends.
func WithRewriteRESTConfig(rewrite func(ar *clustersv1alpha1.AccessRequest, config *rest.Config) error) Option {
	return func(r *Requester) { r.rewrite = rewrite }
}

// WithLogger says where is told what happens. By default that is nowhere.
func WithLogger(l logging.Logger) Option { return func(r *Requester) { r.logger = l } }

// WithClock tells the time. By default that is the machine's.
func WithClock(c clock.PassiveClock) Option { return func(r *Requester) { r.clock = c } }

// WithBuild sets what makes a connection. By default that is a clusters.Cluster with a
// client.
func WithBuild(build func(ctx context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error)) Option {
	return func(r *Requester) { r.build = build }
}

// WithFormerNames names how the controller was called before, from the last name on. What it
// has asked for by those names is used, and given back, as long as there are objects from then. It stays as it
// is, so that the controller can have its name back. By default there are none: then a
// deletion is blocked whose workload cluster was asked for by another name, and what was asked for by
// that name is left on the platform.
func WithFormerNames(names ...string) Option {
	return func(r *Requester) { r.former = append([]string(nil), names...) }
}

// A Requester gets access by asking the platform. It is a
// serviceprovider.ClusterAccessProvider, AccessDetailer, AccessWatcher and ClusterChecker. Make one with
// New, and close it in the end. It may be used concurrently for different objects.
type Requester struct {
	pair

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

	mu      sync.Mutex // guards what follows
	grants  map[clusters.Key]*grant
	waiting map[client.ObjectKey]map[reconcile.Request]struct{} // for existing ClusterRequests
	cached  cache.Cache                                         // once the platform's cache runs
	mayList *bool                                               // clusters, once that is known

	doubted  map[clusters.Key]struct{} // whose Secrets are to be read again
	follower *credentials.Follower     // tells when they have changed; nil: nobody does
	followed map[clusters.Key]following

	turns map[clusters.Key]chan struct{} // whose Secrets are being read; closed when that is over

	wake chan struct{} // there is a doubt
}

// A grant is what is known of an AccessRequest that was granted.
type grant struct {
	request reconcile.Request
	scheme  string // ID of the registration
	version string // of the AccessRequest that it was read for
	secret  client.ObjectKey
	expires time.Time
	ar      *clustersv1alpha1.AccessRequest

	read          time.Time // when its Secret was
	secretVersion string
	flaw          error // why it cannot be used
}

// New returns a provider that asks the platform for access on behalf of a controller,
// whose name is part of the names of its requests: WithFormerNames is for one that has changed. The platform's client has to know the
// kinds of clustersv1alpha1. It returns an error if a registration makes no sense.
func New(platform *clusters.Cluster, controller string, registrations []Registration, o ...Option) (*Requester, error) {
	if platform == nil || !platform.HasClient() || controller == "" {
		return nil, errors.New("cannot ask for access without a platform with a client, and a name")
	}
	seen := map[string]bool{}
	for _, reg := range registrations {
		if err := reg.check(); err != nil {
			return nil, errors.Wrap(err, "cannot ask for access")
		}
		if seen[reg.ID] {
			return nil, errors.Errorf("cannot ask for access: %s is registered twice", reg.ID)
		}
		suffix := "--" + strings.ToLower(reg.suffix())
		if seen[suffix] {
			return nil, errors.Errorf("cannot ask for access: the requests of %s have the names of those of another registration", reg.ID)
		}
		seen[reg.ID], seen[suffix] = true, true
	}
	r := &Requester{
		platform: platform, controller: controller, registered: append([]Registration(nil), registrations...),
		retry: 10 * time.Second, recheck: time.Minute, logger: logging.NewNopLogger(), clock: clock.RealClock{},
		grants: map[clusters.Key]*grant{}, waiting: map[client.ObjectKey]map[reconcile.Request]struct{}{},
		doubted: map[clusters.Key]struct{}{}, followed: map[clusters.Key]following{},
		turns: map[clusters.Key]chan struct{}{}, wake: make(chan struct{}, 1),
	}
	r.pair, r.build = pair{r}, r.connect
	for _, set := range o {
		set(r)
	}
	r.cache = clusters.NewCache(func(ctx context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
		return r.build(ctx, key, in)
	}, clusters.CacheOptions[*clusters.Cluster]{Close: (*clusters.Cluster).Close})

	return r, nil
}

// Close closes all connections.
func (r *Requester) Close() { r.cache.Close() }

// Connections returns those of all objects, by the names of their AccessRequests, for
// controllers that keep something on them: see clusters.Manager. Who listens to it
// enqueues objects, as Manager.Source does: Reconcile for an object whose connection is
// just being replaced, called by the listener itself, would wait until its context ends.
func (r *Requester) Connections() *clusters.Cache[*clusters.Cluster] { return r.cache }

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

// Reconcile asks for access to all clusters of an object. The errors to branch on are
// serviceprovider.ErrAccessDenied and ErrClusterGone. It does not wait: RequeueAfter says
// when to look again.
func (r *Requester) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ready := true
	for _, reg := range r.registered {
		// All are asked for before any is waited for.
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

// CheckClusters returns ErrClusterGone if a cluster that was made for an object was not asked
// for any more, by no name that its request may have: Reconcile would make another one.
func (r *Requester) CheckClusters(ctx context.Context, request reconcile.Request, _ ...any) error {
	for _, reg := range r.registered {
		if reg.Request == nil {
			continue
		}
		_, found, err := locate[clustersv1alpha1.ClusterRequest](ctx, r, r.platform.Client(), reg, request, nil)
		if err == nil && !found {
			err = errors.Wrapf(serviceprovider.ErrClusterGone, "ClusterRequest %s does not exist, and was not asked for by one of clusteraccess.WithFormerNames",
				client.ObjectKeyFromObject(r.newClusterRequest(reg, request)))
		}
		if err != nil {
			return errors.Wrapf(err, "cannot get access to cluster %s", reg.ID)
		}
	}

	return nil
}

// ReconcileDelete gives back what was asked for, under all names that it may have: first
// access, then clusters of our own.
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

// Access returns what is known of a cluster of an object.
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

// AccessRequest returns what access to a cluster of an object was asked for with, as it
// is now. The error is a Kubernetes not-found if there is none, or only one of somebody
// else: that is none of ours, whatever becomes of it. It is serviceprovider.ErrAccessWithdrawn
// as well if the ClusterRequest that was made for the object is being deleted.
func (r *Requester) AccessRequest(ctx context.Context, request reconcile.Request, id string) (*clustersv1alpha1.AccessRequest, error) {
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
	missing := kerrors.NewNotFound(clustersv1alpha1.GroupVersion.WithResource("accessrequests").GroupResource(), r.newAccessRequest(reg, request).Name)
	withdrawn, err := r.withdrawn(ctx, reg, request)
	switch {
	case err != nil:
		return nil, err
	case withdrawn:
		return nil, errors.Errorf("%w: %w", serviceprovider.ErrAccessWithdrawn, missing)
	default:
		return nil, missing
	}
}

// withdrawn reports whether the ClusterRequest that was made for an object is being deleted.
func (r *Requester) withdrawn(ctx context.Context, reg Registration, request reconcile.Request) (bool, error) {
	if reg.Request == nil {
		return false, nil
	}
	cr, found, err := locate[clustersv1alpha1.ClusterRequest](ctx, r, r.platform.Client(), reg, request, nil)
	if err != nil && !errors.Is(err, serviceprovider.ErrAccessNotOwned) {
		return false, err
	}

	return found && !cr.GetDeletionTimestamp().IsZero(), nil
}

// grantKey returns the AccessRequest that access to a cluster of an object was granted by, and
// else the one that it would be asked for with.
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

func (r *Requester) registration(id string) (Registration, error) {
	for _, reg := range r.registered {
		if reg.ID == id {
			return reg, nil
		}
	}

	return Registration{}, errors.Errorf("cluster %q is not registered", id)
}

// Reader returns what requests are read from.
func (r *Requester) reader() client.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cached != nil {
		return r.cached
	}

	return r.platform.Client()
}

// Forget drops what is known of an object.
func (r *Requester) forget(request reconcile.Request) {
	r.mu.Lock()
	var dropped []clusters.Key
	for key, g := range r.grants {
		if g.request == request {
			dropped = append(dropped, key)
			delete(r.grants, key)
			r.leave(key)
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
