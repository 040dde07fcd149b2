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

// Status gives access to the status fields that all services have in common.
type Status interface {
	// GetStatus returns the status, or a pointer to it.
	GetStatus() any

	// GetConditions returns a pointer to the conditions in the status. The caller may change them in place.
	GetConditions() *[]metav1.Condition

	// SetPhase sets the phase in the status.
	SetPhase(phase string)

	// SetObservedGeneration sets the observed generation in the status.
	SetObservedGeneration(generation int64)
}

// A Config is the configuration of the service on the platform cluster.
type Config interface {
	client.Object

	// PollInterval returns the interval at which objects are reconciled without an event. Zero disables polling.
	PollInterval() time.Duration
}

// A Reconciler implements the service; the documentation also calls it the domain. Its methods may be called
// concurrently for different objects.
//
// The object and the configuration that a method receives are copies. The runtime stores changes of the status of the
// object, even if the method returns an error. The runtime ignores all other changes of the copies. A method that sends
// an update of the object to the API server must do so before the method changes the status. The reason is that the
// response of the API server replaces the object in memory.
//
// The runtime removes secret values from the messages of conditions, and shortens each message to 1 KiB. The runtime
// handles a panic of a method like a returned error.
type Reconciler[T API, C Config] interface {
	// CreateOrUpdate creates or updates the service. The runtime calls CreateOrUpdate when the object, its configuration
	// or its access may have changed, and at the poll interval. The runtime requeues the object after the shortest of
	// these times: RequeueAfter of the result, the poll interval and the remaining validity of the credentials.
	CreateOrUpdate(ctx context.Context, obj T, config C, clusters ClusterContext) (ctrl.Result, error)

	// Delete deletes the service. The runtime calls Delete again until Delete returns an empty result and no error, which
	// means that nothing is left. After that the runtime does not call Delete any more. The runtime also does not call
	// Delete while a previous runtime (which the provider used before this one) releases access.
	Delete(ctx context.Context, obj T, config C, clusters ClusterContext) (ctrl.Result, error)
}

// A SecretWatcher is a Reconciler that refers to Secrets on the platform cluster. APIReconcilerBuilder.SecretNamespace
// sets the namespace of the watched Secrets. The runtime reads a Secret when it changes, and does not cache it. A
// deleted Secret has only metadata. If the runtime cannot read a Secret, it requeues all objects and does not call
// IsReferencedSecret.
type SecretWatcher[PC Config] interface {
	// IsReferencedSecret reports whether a change of the Secret requeues all objects. The argument pc is the
	// configuration. While there is no configuration, pc is the zero value, which is nil for a pointer.
	IsReferencedSecret(ctx context.Context, secret *corev1.Secret, pc PC) bool
}

// A SecretMapper is a Reconciler that determines which objects use a Secret. In all other respects a SecretMapper is
// like a SecretWatcher. If a Reconciler implements both interfaces, the runtime uses only SecretMapper.
type SecretMapper[PC Config] interface {
	// ObjectsForSecret returns the requests of the objects that a change of the Secret requeues. The argument pc is the
	// configuration. While there is no configuration, pc is the zero value, which is nil for a pointer.
	ObjectsForSecret(ctx context.Context, secret *corev1.Secret, pc PC) []reconcile.Request
}

// A ConfigMapWatcher is a Reconciler that refers to ConfigMaps on the platform cluster.
// APIReconcilerBuilder.ConfigMapNamespace sets the namespace of the watched ConfigMaps.
type ConfigMapWatcher[PC Config] interface {
	// IsReferencedConfigMap reports whether a change of the ConfigMap requeues all objects. The argument pc is the
	// configuration. While there is no configuration, pc is the zero value, which is nil for a pointer.
	IsReferencedConfigMap(ctx context.Context, configMap *corev1.ConfigMap, pc PC) bool
}

// A Defaulter is a Reconciler that sets default values in the spec of an object.
type Defaulter[T API] interface {
	// Default sets defaults in the object. The runtime stores the changes before it requests access.
	Default(ctx context.Context, obj T) error
}

// IDs of the clusters that every service may have.
const (
	ClusterMCP      = access.MCP
	ClusterWorkload = access.Workload
)

// A ClusterContext contains the connections to the clusters of one object. It does not contain the platform cluster and
// the onboarding cluster, because all objects share these two clusters. Pass the two clusters to the constructor of the
// Reconciler.
type ClusterContext struct {
	// MCPCluster is the connection to the control plane of the user.
	MCPCluster *clusters.Cluster

	// MCPAccessSecretKey is the key of the Secret that contains the kubeconfig of the control plane. The Secret is on the
	// platform cluster.
	MCPAccessSecretKey client.ObjectKey

	// WorkloadCluster is the connection to the workload cluster. It is nil if no workload cluster was requested.
	WorkloadCluster *clusters.Cluster

	// WorkloadAccessSecretKey is the key of the Secret that contains the kubeconfig of the workload cluster. The Secret is
	// on the platform cluster.
	WorkloadAccessSecretKey client.ObjectKey

	all map[string]Access
}

// Cluster returns the connection to the cluster with the ID. It returns false if the object has no such cluster.
func (c ClusterContext) Cluster(id string) (*clusters.Cluster, bool) {
	a, ok := c.all[id]

	return a.Cluster, ok
}

// Revision returns the revision of the connection to the cluster with the ID. Reconcilers that keep state per
// connection compare the revision: see clusters.Manager. The revision is empty if the access provider has no revisions.
func (c ClusterContext) Revision(id string) clusters.Revision { return c.all[id].Revision }

// Ref returns the cluster with the ID as an argument for the methods of a clusters.Manager. The provider of the
// clusters.Manager must identify connections by Access.Key. Ref returns the zero value if the object does not have the
// cluster, or if the access provider sets no Key.
func (c ClusterContext) Ref(id string) clusters.Ref {
	a := c.all[id]
	if a.Key == (clusters.Key{}) {
		return clusters.Ref{}
	}

	return clusters.Ref{Key: a.Key, UID: a.UID, Revision: a.Revision}
}

// A ClusterAccessProvider requests access to the clusters of an object. Its methods may be called concurrently for
// different objects. The argument request of each method names the object on the onboarding cluster.
//
// Errors to branch on are ErrAccessDenied, ErrClusterGone and ErrAccessNotOwned. An access provider may also implement
// AccessDetailer, AccessWatcher and ClusterChecker.
type ClusterAccessProvider interface {
	// MCPCluster returns the connection to the control plane. Call it after Reconcile has returned an empty result.
	MCPCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)

	// MCPAccessRequest returns the AccessRequest for the control plane. If it does not exist, the error is a Kubernetes
	// not-found error with the name of the AccessRequest.
	MCPAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)

	// WorkloadCluster returns the connection to the workload cluster. Call it after Reconcile has returned an empty
	// result.
	WorkloadCluster(ctx context.Context, request reconcile.Request) (*clusters.Cluster, error)

	// WorkloadAccessRequest returns the AccessRequest for the workload cluster. If it does not exist, the error is a
	// Kubernetes not-found error with the name of the AccessRequest.
	WorkloadAccessRequest(ctx context.Context, request reconcile.Request) (*clustersv1alpha1.AccessRequest, error)

	// Reconcile requests access to all clusters of the object. If it returns an empty result and no error, access to all
	// of them is granted.
	Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error)

	// ReconcileDelete releases the access that Reconcile has requested. If it returns an empty result and no error,
	// nothing is left to release.
	ReconcileDelete(ctx context.Context, request reconcile.Request) (reconcile.Result, error)
}

// Access is the access to one cluster of an object.
type Access struct {
	// Cluster is the connection.
	Cluster *clusters.Cluster

	// SecretKey is the key of the Secret that contains the kubeconfig of the cluster.
	SecretKey client.ObjectKey

	// Revision is the revision of the connection. It is empty if the provider has no revisions.
	Revision clusters.Revision

	// Key is the key of the connection at its source, such as a clusters.Cache. UID is the UID of the AccessRequest. The
	// UID distinguishes two connections with the same Key. Key and UID are optional.
	Key clusters.Key
	UID types.UID

	// Expires is the time at which the credentials expire. The zero time means that the time of expiry is unknown.
	Expires time.Time
}

// An AccessDetailer is a ClusterAccessProvider that supports further clusters besides ClusterMCP and ClusterWorkload,
// or returns all fields of Access.
type AccessDetailer interface {
	// Access returns the connection to the cluster with the ID. Call it after Reconcile has returned an empty result.
	Access(ctx context.Context, request reconcile.Request, id string) (Access, error)

	// AccessRequest returns the AccessRequest for the cluster with the ID. If it does not exist, the error is a Kubernetes
	// not-found error with the name of the AccessRequest.
	AccessRequest(ctx context.Context, request reconcile.Request, id string) (*clustersv1alpha1.AccessRequest, error)
}

// An AccessWatcher is a ClusterAccessProvider that has sources of events. The controller requeues an object when one of
// the sources reports that the access of the object has changed.
type AccessWatcher interface {
	// AccessSources returns sources that requeue the objects whose access has changed.
	AccessSources() []source.Source
}

// A ClusterChecker is a ClusterAccessProvider or an AdvancedProvider that creates clusters for objects. The runtime
// calls CheckClusters before Reconcile for an object that is being deleted, if the status of this object says that the
// service was created.
type ClusterChecker interface {
	// CheckClusters returns ErrClusterGone if a cluster that was created for the object does not exist any more. In this
	// case Reconcile would create another cluster, which does not contain the service.
	CheckClusters(ctx context.Context, request reconcile.Request, data ...any) error
}

// Errors of a ClusterAccessProvider.
var (
	// ErrAccessDenied means that the platform denies access. A retry does not help.
	ErrAccessDenied = errors.New("access to the cluster was denied")

	// ErrClusterGone means that a cluster of the object does not exist.
	ErrClusterGone = errors.New("the cluster does not exist")

	// ErrAccessNotOwned means that the AccessRequest or ClusterRequest of the object belongs to another owner. A deletion
	// then waits, with the reason ReasonClusterAccessNotOwned.
	ErrAccessNotOwned = errors.New("the request for access has another owner")

	// ErrAccessWithdrawn means that the AccessRequest does not exist any more, and that the cluster that was requested for
	// it is being released. Providers that create clusters release access before clusters. In AccessRequest and similar
	// methods, they return an error that wraps both ErrAccessWithdrawn and the Kubernetes not-found error.
	//
	// If the object has no other AccessRequest, the deletion of the object continues as if an AccessRequest was being
	// deleted. If ConditionServiceCreated is not True in this case, Delete is not called. The reason is that a previous
	// runtime (which the provider used before this one) may have begun to release access.
	ErrAccessWithdrawn = errors.New("access to the cluster was released")
)

// A DeletionPolicy determines how the deletion of an object continues if the configuration or a cluster of the object
// does not exist.
type DeletionPolicy string

// The policies.
const (
	// DeletionBlock blocks the deletion and sets the condition DeletionBlocked to True.
	DeletionBlock DeletionPolicy = "Block"

	// DeletionOrphan completes the deletion without a call of Delete. What remains of the service is not deleted.
	DeletionOrphan DeletionPolicy = "Orphan"

	// DeletionDelete calls Delete with the zero configuration, which is nil for a pointer. It is allowed only for a
	// missing configuration.
	DeletionDelete DeletionPolicy = "Delete"
)
