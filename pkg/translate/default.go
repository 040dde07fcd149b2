package translate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The default names of a process that serves one virtual cluster, and the labels of host
// objects. They are variables because plugins set them. Set them before anything is
// started; they are not safe for concurrent writes. A RegisterContext with its own Names
// does not use Suffix and Owner.
var (
	// NamespaceLabel is the namespace of the virtual object.
	NamespaceLabel = "vcluster.loft.sh/namespace"

	// MarkerLabel identifies the virtual cluster that a host object belongs to.
	MarkerLabel = "vcluster.loft.sh/managed-by"

	// ControllerLabel names the controller on the host that is responsible for an
	// object. Translation keeps it.
	ControllerLabel = "vcluster.loft.sh/controlled-by"

	// Suffix is Names.Suffix of the default names.
	Suffix = "suffix"

	// Owner is Names.Owner of the default names.
	Owner client.Object
)

// Default returns the Names of the package variables.
func Default() Names { return Names{Suffix: Suffix, Owner: Owner} }

// IsManaged is Names.IsManaged of the default Names.
func IsManaged(obj runtime.Object) bool { return Default().IsManaged(obj) }

// IsManagedCluster is Names.IsManagedCluster of the default Names.
func IsManagedCluster(physicalNamespace string, obj runtime.Object) bool {
	return Default().IsManagedCluster(physicalNamespace, obj)
}

// PhysicalName is Names.PhysicalName of the default Names.
func PhysicalName(name, namespace string) string { return Default().PhysicalName(name, namespace) }

// PhysicalNameClusterScoped is Names.PhysicalNameClusterScoped of the default Names.
func PhysicalNameClusterScoped(name, physicalNamespace string) string {
	return Default().PhysicalNameClusterScoped(name, physicalNamespace)
}

// GetOwnerReference returns an owner reference to Owner for a host object. It is a
// controller reference if the virtual object has a controller, so that no other
// controller adopts the host object. It returns nil without Owner. object may be nil.
func GetOwnerReference(object client.Object) []metav1.OwnerReference {
	if Owner == nil || Owner.GetName() == "" || Owner.GetUID() == "" {
		return nil
	}
	controlled := object != nil && metav1.GetControllerOf(object) != nil
	refs := ownerReference(Owner)
	refs[0].Controller = &controlled
	return refs
}

// ownerReference returns an owner reference. An object of a typed client may have no
// kind; then it is a Service, which is what owns the objects of a virtual cluster.
func ownerReference(owner client.Object) []metav1.OwnerReference {
	apiVersion, kind := owner.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	if kind == "" {
		apiVersion, kind = "v1", "Service"
	}
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID()}}
}
