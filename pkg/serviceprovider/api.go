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

// An API is an object of the service on the onboarding cluster. Its CRD needs the status
// subresource.
type API interface {
	client.Object
	Status

	// Finalizer returns the finalizer that the object carries while the service exists.
	Finalizer() string
}

// Status is the access to the status that all services have in common.
type Status interface {
	// GetStatus returns the status, or a pointer to it.
	GetStatus() any

	// GetConditions returns the conditions in the status, to be changed in place.
	GetConditions() *[]metav1.Condition

	// SetPhase sets the phase in the status.
	SetPhase(phase string)

	// SetObservedGeneration sets the observed generation in the status.
	SetObservedGeneration(generation int64)
}

// A Config is the configuration of the service on the platform cluster.
type Config interface {
	client.Object

	// PollInterval returns the interval at which objects are reconciled without an event. Zero
	// means never.
	PollInterval() time.Duration
}

// A Reconciler implements the service; the documentation also calls it the domain. Its methods may
// be called concurrently for different objects. The object and the configuration are copies:
// changes of the status of the object are stored, also if an error is returned; other changes are
// not. Secrets are removed from the messages of conditions, which have at most 1 KiB. A panic is an
// error. A method that updates the object itself must do so before it changes the status, because
// the response replaces the object in memory.
type Reconciler[T API, C Config] interface {
	// CreateOrUpdate creates or updates the service. It is called whenever the object, its
	// configuration or its access may have changed, and at the poll interval. The object is
	// requeued after the shortest of RequeueAfter, the poll interval, and the remaining validity of
	// the credentials.
	CreateOrUpdate(ctx context.Context, obj T, config C, clusters ClusterContext) (ctrl.Result, error)

	// Delete deletes the service. It is called again until it returns an empty result and no error,
	// which means that nothing is left. It is not called after that, nor while a previous runtime
	// releases access.
	Delete(ctx context.Context, obj T, config C, clusters ClusterContext) (ctrl.Result, error)
}

// A SecretWatcher is a Reconciler that refers to Secrets on the platform cluster, in the namespace
// that SecretNamespace sets. A Secret is read when it changes, and is not cached; a deleted one has
// only metadata. If a Secret cannot be read, all objects are reconciled without a call of the
// method.
type SecretWatcher[PC Config] interface {
	// IsReferencedSecret reports whether a change of this Secret requeues all objects. The
	// configuration is the zero value, nil for a pointer, while there is none.
	IsReferencedSecret(ctx context.Context, secret *corev1.Secret, pc PC) bool
}

// A SecretMapper is a SecretWatcher that knows which objects use a Secret. A Reconciler that is
// both is used as a SecretMapper.
type SecretMapper[PC Config] interface {
	// ObjectsForSecret returns the objects that a change of this Secret requeues. The configuration
	// is the zero value while there is none.
	ObjectsForSecret(ctx context.Context, secret *corev1.Secret, pc PC) []reconcile.Request
}

// A ConfigMapWatcher is a Reconciler that refers to ConfigMaps on the platform cluster, in the
// namespace that ConfigMapNamespace sets.
type ConfigMapWatcher[PC Config] interface {
	// IsReferencedConfigMap is IsReferencedSecret for ConfigMaps.
	IsReferencedConfigMap(ctx context.Context, configMap *corev1.ConfigMap, pc PC) bool
}

// A Defaulter is a Reconciler that sets defaults.
type Defaulter[T API] interface {
	// Default modifies the object. Changes are stored before access is requested.
	Default(ctx context.Context, obj T) error
}

// IDs of the clusters that every service may have.
const (
	ClusterMCP      = access.MCP
	ClusterWorkload = access.Workload
)

// A ClusterContext contains the clusters of one object. The platform and the onboarding cluster,
// which all objects share, are not in it; pass them to the constructor of the Reconciler.
type ClusterContext struct {
	// MCPCluster is the control plane of the user.
	MCPCluster *clusters.Cluster

	// MCPAccessSecretKey is the Secret on the platform cluster with the kubeconfig of the control
	// plane.
	MCPAccessSecretKey client.ObjectKey

	// WorkloadCluster is the cluster for workload, nil unless it was requested.
	WorkloadCluster *clusters.Cluster

	// WorkloadAccessSecretKey is the Secret on the platform cluster with its kubeconfig.
	WorkloadAccessSecretKey client.ObjectKey

	all map[string]Access
}

// Cluster returns the cluster with an ID, if the object has it.
func (c ClusterContext) Cluster(id string) (*clusters.Cluster, bool) {
	a, ok := c.all[id]

	return a.Cluster, ok
}

// Revision returns the revision of the connection to the cluster with an ID, for reconcilers that
// keep state per connection: see clusters.Manager. It is empty if the access provider has no
// revisions.
func (c ClusterContext) Revision(id string) clusters.Revision { return c.all[id].Revision }

// Ref returns the cluster with an ID as an argument for a clusters.Manager whose provider knows the
// connection by the Key of the access. It is the zero value if the object does not have the
// cluster, or the access provider sets no Key.
func (c ClusterContext) Ref(id string) clusters.Ref {
	a := c.all[id]
	if a.Key == (clusters.Key{}) {
		return clusters.Ref{}
	}

	return clusters.Ref{Key: a.Key, UID: a.UID, Revision: a.Revision}
}

// A ClusterAccessProvider gets access to the clusters of an object. Its methods may be called
// concurrently for different objects; the request names the object on the onboarding cluster.
//
// Errors to branch on are ErrAccessDenied, ErrClusterGone and ErrAccessNotOwned. An access provider
// may also be an AccessDetailer, an AccessWatcher and a ClusterChecker.
type ClusterAccessProvider interface {
	// MCPCluster returns the control plane, once Reconcile has returned an empty result.
	MCPCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)

	// MCPAccessRequest returns the AccessRequest for the control plane. If there is none, the error
	// is a Kubernetes not-found error with its name.
	MCPAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)

	// WorkloadCluster returns the workload cluster, once Reconcile has returned an empty result.
	WorkloadCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)

	// WorkloadAccessRequest returns the AccessRequest for the workload cluster. If there is none,
	// the error is a Kubernetes not-found error with its name.
	WorkloadAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)

	// Reconcile requests access to all clusters of the object. An empty result and no error mean
	// that there is access.
	Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error)

	// ReconcileDelete releases what Reconcile has requested. An empty result and no error mean that
	// nothing is left.
	ReconcileDelete(ctx context.Context, request reconcile.Request) (reconcile.Result, error)
}

// Access is the access to one cluster of an object.
type Access struct {
	// Cluster is the connection.
	Cluster *clusters.Cluster

	// SecretKey is the Secret with its kubeconfig.
	SecretKey client.ObjectKey

	// Revision is the revision of the connection, empty if there are none.
	Revision clusters.Revision

	// Key is the name of the connection at its source, and UID, that of the AccessRequest,
	// distinguishes connections of one name. Both are optional.
	Key clusters.Key
	UID types.UID

	// Expires is the time at which its credentials expire. Zero means unknown.
	Expires time.Time
}

// An AccessDetailer is a ClusterAccessProvider that has other clusters than ClusterMCP and
// ClusterWorkload, or knows more about them.
type AccessDetailer interface {
	// Access returns the access to the cluster with an ID, once Reconcile has returned an empty
	// result.
	Access(ctx context.Context, request reconcile.Request, id string) (Access, error)

	// AccessRequest returns the AccessRequest for the cluster. If there is none, the error is a
	// Kubernetes not-found error with its name.
	AccessRequest(ctx context.Context, request reconcile.Request, id string) (*clustersv1alpha1.AccessRequest, error)
}

// An AccessWatcher is a ClusterAccessProvider that watches access.
type AccessWatcher interface {
	// AccessSources return sources that requeue the objects whose access has changed.
	AccessSources() []source.Source
}

// A ClusterChecker is a ClusterAccessProvider or an AdvancedProvider that creates clusters for
// objects. It is called before Reconcile for an object that is being deleted and whose status says
// that something was created.
type ClusterChecker interface {
	// CheckClusters returns ErrClusterGone if a cluster that was created for the object does not
	// exist, and Reconcile would create another one: the service is not in that.
	CheckClusters(ctx context.Context, request reconcile.Request, data ...any) error
}

// Errors of a ClusterAccessProvider.
var (
	// ErrAccessDenied means that the platform denies access. A retry does not help.
	ErrAccessDenied = errors.New("access to the cluster was denied")

	// ErrClusterGone means that a cluster of the object does not exist.
	ErrClusterGone = errors.New("the cluster does not exist")

	// ErrAccessNotOwned means that an AccessRequest or ClusterRequest with the name of the object's
	// has another owner. A deletion waits for it: see ReasonClusterAccessNotOwned.
	ErrAccessNotOwned = errors.New("the request for access has another owner")

	// ErrAccessWithdrawn means that there is no AccessRequest any more, and that the cluster that
	// was requested with it is being released: a provider releases access first. Providers that
	// create clusters return it together with the Kubernetes not-found error of AccessRequest and
	// similar methods. If the object has no other AccessRequest, its deletion continues as if one
	// was being deleted: where the object has no condition ConditionServiceCreated that is True, a
	// previous runtime may have begun to release access, and Delete is not called.
	ErrAccessWithdrawn = errors.New("access to the cluster was released")
)

// A DeletionPolicy is how a deletion continues without something that it needs.
type DeletionPolicy string

// The policies.
const (
	// DeletionBlock waits, and sets the condition DeletionBlocked.
	DeletionBlock DeletionPolicy = "Block"

	// DeletionOrphan abandons the service: it remains, or does not exist any more.
	DeletionOrphan DeletionPolicy = "Orphan"

	// DeletionDelete calls Delete with the zero configuration, nil for a pointer. It is for a
	// missing configuration only.
	DeletionDelete DeletionPolicy = "Delete"
)
