package translate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The default names of a process that serves one virtual cluster, and the labels of host objects. They are variables
// because plugins set them. Set the variables before anything is started, because they are not safe for concurrent
// writes. If a RegisterContext has its own Names, Suffix and Owner are not used.
var (
	// NamespaceLabel is the key of the label with the namespace of the virtual object.
	NamespaceLabel = "vcluster.loft.sh/namespace"

	// MarkerLabel is the key of the label that identifies the virtual cluster that a host object
	// belongs to.
	MarkerLabel = "vcluster.loft.sh/managed-by"

	// ControllerLabel is the key of the label that names the controller on the host that is
	// responsible for an object. The syncer keeps this label when it translates the labels of a
	// virtual object.
	ControllerLabel = "vcluster.loft.sh/controlled-by"

	// Suffix is the Suffix of the Names that Default returns.
	Suffix = "suffix"

	// Owner is the Owner of the Names that Default returns.
	Owner client.Object
)

// Default returns Names with the package variables Suffix and Owner.
func Default() Names { return Names{Suffix: Suffix, Owner: Owner} }

// IsManaged calls Names.IsManaged of Default().
func IsManaged(obj runtime.Object) bool { return Default().IsManaged(obj) }

// IsManagedCluster calls Names.IsManagedCluster of Default().
func IsManagedCluster(physicalNamespace string, obj runtime.Object) bool {
	return Default().IsManagedCluster(physicalNamespace, obj)
}

// PhysicalName calls Names.PhysicalName of Default().
func PhysicalName(name, namespace string) string { return Default().PhysicalName(name, namespace) }

// PhysicalNameClusterScoped calls Names.PhysicalNameClusterScoped of Default().
func PhysicalNameClusterScoped(name, physicalNamespace string) string {
	return Default().PhysicalNameClusterScoped(name, physicalNamespace)
}

// GetOwnerReference returns an owner reference from a host object to Owner. It returns nil if Owner is nil, or if Owner
// has no name or no UID. The argument object is the virtual object and may be nil. If the virtual object has a
// controller, the reference is a controller reference, so that no other controller adopts the host object.
func GetOwnerReference(object client.Object) []metav1.OwnerReference {
	if Owner == nil || Owner.GetName() == "" || Owner.GetUID() == "" {
		return nil
	}
	controlled := object != nil && metav1.GetControllerOf(object) != nil
	refs := ownerReference(Owner)
	refs[0].Controller = &controlled
	return refs
}

// ownerReference returns an owner reference. If owner has no kind, as objects of a typed client
// may, the kind is Service, because a Service owns the objects of a virtual cluster.
func ownerReference(owner client.Object) []metav1.OwnerReference {
	apiVersion, kind := owner.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	if kind == "" {
		apiVersion, kind = "v1", "Service"
	}
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID()}}
}
