package translator

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// IndexByPhysicalName is the name of the index that finds virtual objects by the name of their host
// object. A value of the index is a name without the target namespace.
const IndexByPhysicalName = "IndexByPhysicalName"

// Annotations of host objects.
const (
	// ManagedAnnotationsAnnotation lists the keys of the annotations that were copied from the virtual
	// object, one per line. If an annotation is removed from the virtual object, the syncer removes it
	// from the host object by this list.
	ManagedAnnotationsAnnotation = "vcluster.loft.sh/managed-annotations"

	// NameAnnotation is the name of the virtual object.
	NameAnnotation = "vcluster.loft.sh/object-name"

	// NamespaceAnnotation is the namespace of the virtual object.
	NamespaceAnnotation = "vcluster.loft.sh/object-namespace"

	// UIDAnnotation is the UID of the virtual object. Host objects that earlier versions have created do not have this
	// annotation. For such host objects the name decides about the ownership.
	UIDAnnotation = "vcluster.loft.sh/object-uid"

	// ClusterAnnotation is the UID of the virtual cluster's kube-system namespace. If a host object does not have this
	// annotation, every virtual cluster with the same name counts as the owner.
	ClusterAnnotation = "moorage.dev/backend-identity"
)

// A NameTranslator maps virtual names (the namespace and name of a virtual object) to host names,
// and host objects to virtual names. Its methods are called concurrently and must not modify their
// arguments.
type NameTranslator interface {
	// IsManaged reports whether the host object belongs to this syncer. If IsManaged returns an error, it is called again
	// later.
	IsManaged(pObj client.Object) (bool, error)

	// VirtualToPhysical returns the host name of a virtual name. The argument vObj is nil if the virtual object does not
	// exist. In this case a translator whose host names depend on vObj may return an empty name. The syncer then uses the
	// host names that the syncer has recorded.
	VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName

	// PhysicalToVirtual returns the virtual name of a host object, or an empty name if the host object has no virtual
	// name. A translator whose lookup may fail should also implement NameLookup.
	PhysicalToVirtual(pObj client.Object) types.NamespacedName
}

// A NameLookup looks up the virtual name of a host object and can return an error. If a syncer implements NameLookup,
// LookupVirtual is called instead of PhysicalToVirtual. The translators of this package implement NameLookup, and so
// does a syncer that embeds a Namespaced or a ClusterScoped.
//
// A syncer that embeds only the interface NamespacedTranslator or Translator does not implement NameLookup. If
// PhysicalToVirtual of such a syncer returns no name, IsManaged is called again, because IsManaged returns the error of
// the lookup.
type NameLookup interface {
	// LookupVirtual returns the virtual name of a host object, or an empty name if the host object has no virtual name. If
	// LookupVirtual returns an error, it is called again later.
	LookupVirtual(pObj client.Object) (types.NamespacedName, error)
}

// A MetadataTranslator translates the metadata of objects from one cluster to the other.
type MetadataTranslator interface {
	// TranslateMetadata returns a copy of the argument vObj with the metadata that this object gets when it is created in
	// the other cluster.
	TranslateMetadata(vObj client.Object) client.Object

	// TranslateMetadataUpdate returns the desired annotations and labels of an existing object, and
	// whether they differ from the current ones.
	TranslateMetadataUpdate(vObj, pObj client.Object) (changed bool, annotations, labels map[string]string)
}

// A Translator implements most of a syncer: its name, its kind, and the translation of names and
// metadata.
type Translator interface {
	// Resource returns an empty object of the kind.
	Resource() client.Object

	// Name returns the name of the syncer.
	Name() string

	NameTranslator
	MetadataTranslator
}

// A NamespacedTranslator is a Translator that also writes host objects.
type NamespacedTranslator interface {
	Translator

	// EventRecorder records events about virtual objects.
	EventRecorder() record.EventRecorder

	// RegisterIndices registers IndexByPhysicalName.
	RegisterIndices(ctx *synccontext.RegisterContext) error

	// SyncDownCreate creates the host object and decodes the response into pObj. It never changes an
	// existing object. If the host name is taken, the error is a conflict or AlreadyExists.
	SyncDownCreate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error)

	// SyncDownUpdate sends the difference between the host object in the cache and pObj. It does
	// nothing if pObj is nil or a nil pointer. If the host object was changed since pObj was read, the
	// error is a conflict.
	SyncDownUpdate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error)
}

// A PhysicalNameTranslator returns the host name of a virtual name. The argument vObj is nil if the virtual object does
// not exist.
type PhysicalNameTranslator func(vName string, vObj client.Object) string
