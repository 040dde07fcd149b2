package translator

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// IndexByPhysicalName is the name of the index of virtual objects by host name. Its
// values are names, without the target namespace.
const IndexByPhysicalName = "IndexByPhysicalName"

// Annotations of host objects.
const (
	// ManagedAnnotationsAnnotation lists the annotation keys that were copied from the
	// virtual object, one per line, so that a removed annotation is removed on the host.
	ManagedAnnotationsAnnotation = "vcluster.loft.sh/managed-annotations"

	// NameAnnotation is the name of the virtual object.
	NameAnnotation = "vcluster.loft.sh/object-name"

	// NamespaceAnnotation is the namespace of the virtual object.
	NamespaceAnnotation = "vcluster.loft.sh/object-namespace"

	// UIDAnnotation is the UID of the virtual object. Without it, as in images of
	// earlier versions, the name decides about the ownership.
	UIDAnnotation = "vcluster.loft.sh/object-uid"

	// ClusterAnnotation is the UID of the virtual cluster's kube-system namespace.
	// Without it, every virtual cluster of that name counts as the owner.
	ClusterAnnotation = "moorage.dev/backend-identity"
)

// A NameTranslator maps names of one cluster to names of the other. Its methods are
// called concurrently and must not modify their arguments.
type NameTranslator interface {
	// IsManaged reports whether the host object belongs to this syncer. If it returns an
	// error, it is called again later.
	IsManaged(pObj client.Object) (bool, error)

	// VirtualToPhysical returns the host name of a virtual name. vObj is nil if the
	// virtual object does not exist. A translator whose names depend on the object may
	// then return an empty name; the syncer uses the name from before.
	VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName

	// PhysicalToVirtual returns the virtual name of a host object, or an empty name if
	// there is none. A translator whose lookup may fail should be a NameLookup as well.
	PhysicalToVirtual(pObj client.Object) types.NamespacedName
}

// A NameLookup is a NameTranslator that can return an error of the lookup. If a syncer
// implements it, LookupVirtual is called instead of PhysicalToVirtual. The translators of
// this package implement it, and so does a syncer that embeds a Namespaced or a
// ClusterScoped. A syncer that embeds only the interface NamespacedTranslator or
// Translator does not: if its PhysicalToVirtual returns no name, IsManaged is called
// again, for the error of the same lookup.
type NameLookup interface {
	// LookupVirtual is PhysicalToVirtual with an error. If it returns an error, it is
	// called again later.
	LookupVirtual(pObj client.Object) (types.NamespacedName, error)
}

// A MetadataTranslator translates the metadata of an object from one cluster to the
// other.
type MetadataTranslator interface {
	// TranslateMetadata returns a copy of the object with the metadata with which it is
	// created in the other cluster.
	TranslateMetadata(vObj client.Object) client.Object

	// TranslateMetadataUpdate returns the desired annotations and labels of an existing
	// object, and whether they differ from the present ones.
	TranslateMetadataUpdate(vObj, pObj client.Object) (changed bool, annotations, labels map[string]string)
}

// A Translator implements most of a syncer: its name, its kind, and the translation of
// names and metadata.
type Translator interface {
	// Resource returns an empty object of the kind.
	Resource() client.Object

	// Name of the syncer.
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

	// SyncDownCreate creates the host object and decodes the response into pObj. It never
	// changes an existing object: if the name is taken, the error is a conflict or
	// AlreadyExists.
	SyncDownCreate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error)

	// SyncDownUpdate sends the difference between the host object and pObj. If pObj is
	// nil or a nil pointer, there is none. If the host object was changed since pObj was
	// read, the error is a conflict.
	SyncDownUpdate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error)
}

// A PhysicalNameTranslator returns the host name of a virtual name. vObj is nil if the
// virtual object does not exist.
type PhysicalNameTranslator func(vName string, vObj client.Object) string
