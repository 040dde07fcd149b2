package translator

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// IndexByPhysicalName is the index of the virtual cache by host names. Its values
// are "name" for cluster-scoped host objects and "name" within the target namespace
// for the others.
const IndexByPhysicalName = "IndexByPhysicalName"

// Annotations of host objects.
const (
	// ManagedAnnotationsAnnotation lists the keys that were copied from the virtual
	// object, one per line, so that those it loses are removed.
	ManagedAnnotationsAnnotation = "vcluster.loft.sh/managed-annotations"

	// NameAnnotation is the name of the virtual object.
	NameAnnotation = "vcluster.loft.sh/object-name"

	// NamespaceAnnotation is the namespace of the virtual object.
	NamespaceAnnotation = "vcluster.loft.sh/object-namespace"

	// UIDAnnotation is the UID of the virtual object. Without it, as in what older
	// versions wrote, the name decides.
	UIDAnnotation = "vcluster.loft.sh/object-uid"

	// ClusterAnnotation is the UID of the virtual cluster's kube-system namespace.
	// Without it, the address decides.
	ClusterAnnotation = "moorage.dev/backend-identity"
)

// A NameTranslator says which objects of the two clusters belong together. Its
// methods are called from many goroutines and must not change what they are given.
type NameTranslator interface {
	// IsManaged tells whether the host object belongs to this syncer. An error
	// means that this cannot be told now; it is asked again.
	IsManaged(pObj client.Object) (bool, error)

	// VirtualToPhysical returns the host name for a virtual one. The object is nil
	// if it does not exist; a translator whose names depend on it may then answer
	// with an empty name, and the name that was used while it existed is tried.
	VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName

	// PhysicalToVirtual returns the virtual name of a host object. An empty name
	// means that there is none. Who may fail to tell is a NameLookup as well.
	PhysicalToVirtual(pObj client.Object) types.NamespacedName
}

// A NameLookup is a NameTranslator that looks names up and can say that this failed.
// Of a syncer that is one, LookupVirtual is called in place of PhysicalToVirtual. The
// translators of this package are; a syncer that embeds a Namespaced or a ClusterScoped
// is. Of one that embeds the interface NamespacedTranslator or Translator, IsManaged is asked once more when PhysicalToVirtual knows no name, and
// an error that it returns counts.
type NameLookup interface {
	// LookupVirtual is PhysicalToVirtual, and an error means that this cannot be
	// told now; it is asked again.
	LookupVirtual(pObj client.Object) (types.NamespacedName, error)
}

// A MetadataTranslator makes the metadata of one side from that of the other.
type MetadataTranslator interface {
	// TranslateMetadata returns a copy of the object with the metadata that it is
	// created with on the other side.
	TranslateMetadata(vObj client.Object) client.Object

	// TranslateMetadataUpdate returns the annotations and labels that an existing
	// object is to have, and whether it has other ones now.
	TranslateMetadataUpdate(vObj, pObj client.Object) (changed bool, annotations, labels map[string]string)
}

// A Translator is most of a syncer: its name, its kind, names and metadata.
type Translator interface {
	// Resource returns an empty object of the kind.
	Resource() client.Object

	// Name of the syncer.
	Name() string

	NameTranslator
	MetadataTranslator
}

// A NamespacedTranslator also writes host objects.
type NamespacedTranslator interface {
	Translator

	// EventRecorder records events about virtual objects.
	EventRecorder() record.EventRecorder

	// RegisterIndices registers IndexByPhysicalName.
	RegisterIndices(ctx *synccontext.RegisterContext) error

	// SyncDownCreate creates the host object, and only creates it. It is filled
	// with the API server's answer. A name that is taken is a conflict or
	// AlreadyExists.
	SyncDownCreate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error)

	// SyncDownUpdate sends what differs between the host object as it is and pObj.
	// Nil, as an interface or as a pointer in it, means that nothing does. If the
	// host object was changed since pObj was read, that is a conflict.
	SyncDownUpdate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error)
}

// A PhysicalNameTranslator returns the host name for a virtual one. The object may
// be nil, if it does not exist.
type PhysicalNameTranslator func(vName string, vObj client.Object) string
