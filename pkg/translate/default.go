package translate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The names of a process that serves one virtual cluster, and the labels of host
// objects. They are variables because plugins set them; set them before anything
// is started, if at all. A RegisterContext with Names of its own does not need
// Suffix and Owner.
var (
	// NamespaceLabel holds the virtual namespace.
	NamespaceLabel = "vcluster.loft.sh/namespace"

	// MarkerLabel says to which virtual cluster a host object belongs.
	MarkerLabel = "vcluster.loft.sh/managed-by"

	// ControllerLabel says which controller of the host answers for an object. It
	// survives translation.
	ControllerLabel = "vcluster.loft.sh/controlled-by"

	// Suffix is Names.Suffix of the default names.
	Suffix = "suffix"

	// Owner is Names.Owner of the default names.
	Owner client.Object
)

// Default returns the names that the package's variables make.
func Default() Names { return Names{Suffix: Suffix, Owner: Owner} }

// IsManaged is Names.IsManaged of the default names.
func IsManaged(obj runtime.Object) bool { return Default().IsManaged(obj) }

// IsManagedCluster is Names.IsManagedCluster of the default names.
func IsManagedCluster(physicalNamespace string, obj runtime.Object) bool {
	return Default().IsManagedCluster(physicalNamespace, obj)
}

// PhysicalName is Names.PhysicalName of the default names.
func PhysicalName(name, namespace string) string { return Default().PhysicalName(name, namespace) }

// PhysicalNameClusterScoped is Names.PhysicalNameClusterScoped of the default
// names.
func PhysicalNameClusterScoped(name, physicalNamespace string) string {
	return Default().PhysicalNameClusterScoped(name, physicalNamespace)
}

// GetOwnerReference returns the reference that makes Owner the owner of what is
// made for the object, as its controller if the object has one itself: nobody else
// adopts it then. Without Owner it returns nil. The object may be nil.
func GetOwnerReference(object client.Object) []metav1.OwnerReference {
	if Owner == nil || Owner.GetName() == "" || Owner.GetUID() == "" {
		return nil
	}
	controlled := object != nil && metav1.GetControllerOf(object) != nil
	refs := ownerReference(Owner)
	refs[0].Controller = &controlled
	return refs
}

// ownerReference names an owner as its type does. Objects that were read through a
// typed client do not know their kind; a Service is what a virtual cluster has.
func ownerReference(owner client.Object) []metav1.OwnerReference {
	apiVersion, kind := owner.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	if kind == "" {
		apiVersion, kind = "v1", "Service"
	}
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID()}}
}
