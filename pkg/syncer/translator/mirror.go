package translator

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ Translator = &mirror{}

// NewMirrorPhysicalTranslator returns a Translator for objects that are copied from the host to the
// virtual cluster, such as nodes. Names are the same in both clusters, every host object is
// managed, and metadata is copied from the host. The syncer must be an UpSyncer; otherwise host
// objects without a virtual object are deleted.
func NewMirrorPhysicalTranslator(name string, obj client.Object) Translator {
	return &mirror{name: name, obj: obj}
}

// A mirror keeps names and copies metadata up.
type mirror struct {
	name string
	obj  client.Object
}

func (m *mirror) Name() string { return m.name }

func (m *mirror) Resource() client.Object { return m.obj.DeepCopyObject().(client.Object) }

func (m *mirror) IsManaged(client.Object) (bool, error) { return true, nil }

func (m *mirror) VirtualToPhysical(req types.NamespacedName, _ client.Object) types.NamespacedName {
	return req
}

func (m *mirror) PhysicalToVirtual(pObj client.Object) types.NamespacedName {
	return client.ObjectKeyFromObject(pObj)
}

// TranslateMetadata returns the virtual object of a host object.
func (m *mirror) TranslateMetadata(pObj client.Object) client.Object {
	vObj := pObj.DeepCopyObject().(client.Object)
	ResetObjectMetadata(vObj)
	return vObj
}

// TranslateMetadataUpdate returns the annotations and labels of the host object, and whether those of the virtual
// object differ.
func (m *mirror) TranslateMetadataUpdate(
	vObj, pObj client.Object,
) (changed bool, annotations, labels map[string]string) {
	annotations, labels = pObj.GetAnnotations(), pObj.GetLabels()
	return !equality.Semantic.DeepEqual(vObj.GetAnnotations(), annotations) ||
		!equality.Semantic.DeepEqual(vObj.GetLabels(), labels), annotations, labels
}
