package serviceprovider

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/access"
)

// An API is an object of the service, on the onboarding cluster. Its kind needs the
// status subresource.
type API interface {
	client.Object
	Status

	// Finalizer returns the finalizer that the object carries while the service exists.
	Finalizer() string
}

// A Status gives access to what all services say in their status.
type Status interface {
	// GetStatus returns the status, or a pointer to it.
	GetStatus() any

	// GetConditions returns the conditions in the status, to be changed in place.
	GetConditions() *[]metav1.Condition

	// SetPhase sets the phase in the status.
	SetPhase(phase string)

	// SetObservedGeneration sets the generation that the status is about.
	SetObservedGeneration(generation int64)
}

// A Config is the configuration of the service, on the platform cluster.
type Config interface {
	client.Object

	// PollInterval is how often to look at objects that nothing happens to, zero for
	// not at all.
	PollInterval() time.Duration
}

// A Reconciler knows the service. Its methods may be called concurrently for different
// objects. The object and the configuration are copies: what is written into the status
// of the object is stored, also when an error is returned; changes of anything else are
// not. Secrets are taken out of the messages of conditions, which are at most 1 KiB long. A
// panic is an error. A method that updates the object itself does so before it changes the status: the
// response replaces the object in memory.
type Reconciler[T API, C Config] interface {
	// CreateOrUpdate brings the service to what the object asks for. It is called
	// whenever that may have changed, and at the poll interval. The object is looked
	// at again after the least of RequeueAfter, the poll interval, and what is left of
	// the credentials.
	CreateOrUpdate(ctx context.Context, obj T, config C, clusters ClusterContext) (ctrl.Result, error)

	// Delete removes the service. It is called again until it returns an empty result
	// and no error: only that means that nothing is left. It is not called any more
	// once access is being taken away.
	Delete(ctx context.Context, obj T, config C, clusters ClusterContext) (ctrl.Result, error)
}

// A SecretWatcher is a Reconciler that refers to Secrets on the platform cluster, in the
// namespace that SecretNamespace names. A Secret is read when it has changed, and kept
// nowhere; one that is gone has only metadata. If it cannot be read all objects are looked
// at, and nobody is asked.
type SecretWatcher[PC Config] interface {
	// IsReferencedSecret reports whether all objects are to be looked at when this
	// Secret has changed. The configuration is the zero value, nil for a pointer, while
	// there is none.
	IsReferencedSecret(ctx context.Context, secret *corev1.Secret, pc PC) bool
}

// A SecretMapper is a SecretWatcher that knows which objects a Secret is for. If a
// Reconciler is both, this one is asked.
type SecretMapper[PC Config] interface {
	// ObjectsForSecret returns the objects to look at when this Secret has changed. The
	// configuration is the zero value while there is none.
	ObjectsForSecret(ctx context.Context, secret *corev1.Secret, pc PC) []reconcile.Request
}

// A ConfigMapWatcher is a Reconciler that refers to ConfigMaps on the platform cluster,
// in the namespace that ConfigMapNamespace names.
type ConfigMapWatcher[PC Config] interface {
	// IsReferencedConfigMap is IsReferencedSecret for ConfigMaps.
	IsReferencedConfigMap(ctx context.Context, configMap *corev1.ConfigMap, pc PC) bool
}

// A Defaulter is a Reconciler that fills up what a user has left out.
type Defaulter[T API] interface {
	// Default changes the object. What differs is stored before access is asked for.
	Default(ctx context.Context, obj T) error
}

// IDs of the clusters that every service may have.
const (
	ClusterMCP      = access.MCP
	ClusterWorkload = access.Workload
)

// A ClusterContext is the clusters of one object. Those of the whole program, platform
// and onboarding, are given to the Reconciler when it is made.
type ClusterContext struct {
	// MCPCluster is the control plane that the object belongs to.
	MCPCluster *clusters.Cluster

	// MCPAccessSecretKey is the Secret on the platform cluster that holds the
	// kubeconfig of the control plane.
	MCPAccessSecretKey client.ObjectKey

	// WorkloadCluster is where workload runs, nil unless it was asked for.
	WorkloadCluster *clusters.Cluster

	// WorkloadAccessSecretKey is the Secret with its kubeconfig.
	WorkloadAccessSecretKey client.ObjectKey

	all map[string]Access
}

// Cluster returns the cluster of an ID, if the object has it.
func (c ClusterContext) Cluster(id string) (*clusters.Cluster, bool) {
	a, ok := c.all[id]

	return a.Cluster, ok
}

// Revision returns the revision of the connection to the cluster of an ID, for
// reconcilers that keep something per connection: see clusters.Manager. It is empty if
// the access provider does not tell revisions.
func (c ClusterContext) Revision(id string) clusters.Revision { return c.all[id].Revision }

// Ref returns the cluster of an ID as the methods of a clusters.Manager want it, whose
// provider knows the connection by the Key of the access. It is the zero value if the
// object does not have the cluster, or the access provider tells no Key.
func (c ClusterContext) Ref(id string) clusters.Ref {
	a := c.all[id]
	if a.Key == (clusters.Key{}) {
		return clusters.Ref{}
	}

	return clusters.Ref{Key: a.Key, UID: a.UID, Revision: a.Revision}
}

// A ClusterAccessProvider gets access to the clusters of an object. Its methods may be
// called concurrently for different objects; the request names the object on the
// onboarding cluster.
//
// Errors to branch on are ErrAccessDenied, ErrClusterGone and ErrAccessNotOwned. An access
// provider may also be an AccessDetailer and an AccessWatcher.
type ClusterAccessProvider interface {
	// MCPCluster returns the control plane, once Reconcile has returned an empty result.
	MCPCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)

	// MCPAccessRequest returns what access to the control plane was asked for with. The
	// error is a Kubernetes not-found that names it if there is none.
	MCPAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)

	// WorkloadCluster is MCPCluster for the workload cluster.
	WorkloadCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)

	// WorkloadAccessRequest is MCPAccessRequest for the workload cluster.
	WorkloadAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)

	// Reconcile asks for access to all clusters of the object. An empty result and no
	// error means that there is access.
	Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error)

	// ReconcileDelete gives back what Reconcile has asked for. An empty result and no
	// error means that nothing is left.
	ReconcileDelete(ctx context.Context, request reconcile.Request) (reconcile.Result, error)
}

// An Access is what an AccessDetailer tells of one cluster of an object.
type Access struct {
	// Cluster is the connection.
	Cluster *clusters.Cluster

	// SecretKey is the Secret that holds its kubeconfig.
	SecretKey client.ObjectKey

	// Revision of the connection.
	Revision clusters.Revision

	// Key is the name of the connection where it comes from, and UID tells apart
	// those of one name: that of the AccessRequest. Both are optional.
	Key clusters.Key
	UID types.UID

	// Expires is when its credentials do. Zero means that this is not known.
	Expires time.Time
}

// An AccessDetailer is a ClusterAccessProvider that has other clusters than the usual
// two, or knows more of them.
type AccessDetailer interface {
	// Access returns what is known of the cluster of an ID, once Reconcile has returned
	// an empty result.
	Access(ctx context.Context, request reconcile.Request, id string) (Access, error)

	// AccessRequest returns what access to it was asked for with. The error is a
	// Kubernetes not-found that names it if there is none.
	AccessRequest(ctx context.Context, request reconcile.Request, id string) (*clustersv1alpha1.AccessRequest, error)
}

// An AccessWatcher is a ClusterAccessProvider that knows when access has changed.
type AccessWatcher interface {
	// AccessSources lead to the objects whose access has changed.
	AccessSources() []source.Source
}

// A ClusterChecker is a ClusterAccessProvider or an AdvancedProvider that makes clusters for
// objects. It is asked before Reconcile for an object that is being deleted, and whose
// status says that something was made.
type ClusterChecker interface {
	// CheckClusters returns ErrClusterGone if a cluster that was made for the object is gone, in
	// whose place Reconcile would make another one: what was made is not in that.
	CheckClusters(ctx context.Context, request reconcile.Request, data ...any) error
}

// Errors of a ClusterAccessProvider.
var (
	// ErrAccessDenied says that the platform refuses access. Trying again does not help.
	ErrAccessDenied = errors.New("access to the cluster was denied")

	// ErrClusterGone says that a cluster of the object does not exist.
	ErrClusterGone = errors.New("the cluster does not exist")

	// ErrAccessNotOwned says that a request for access of the name that the object's has
	// belongs to somebody else. A deletion waits for it: see ReasonClusterAccessNotOwned.
	ErrAccessNotOwned = errors.New("the request for access belongs to somebody else")

	// ErrAccessWithdrawn says that there is no AccessRequest any more, and that the cluster
	// that was made with it is being given back: a provider gives back access first. It comes
	// with the Kubernetes not-found of AccessRequest and the methods that are like it, from
	// providers that make clusters. If no other AccessRequest of the object is there, its
	// deletion goes on as if one was being deleted: Delete is not called where the runtime
	// before may have begun that, which is where the object has no condition
	// ConditionServiceCreated that is True.
	ErrAccessWithdrawn = errors.New("access to the cluster was given back")
)

// A DeletionPolicy says how a deletion goes on without something that it needs.
type DeletionPolicy string

// The policies.
const (
	// DeletionBlock waits, and says for what in the condition DeletionBlocked.
	DeletionBlock DeletionPolicy = "Block"

	// DeletionOrphan forgets what the service has made: it stays, or is gone already.
	DeletionOrphan DeletionPolicy = "Orphan"

	// DeletionDelete calls Delete without a configuration: it gets the zero value, nil
	// for a pointer. It is for a missing configuration only.
	DeletionDelete DeletionPolicy = "Delete"
)
