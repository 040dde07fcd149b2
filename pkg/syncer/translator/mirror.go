package translator

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ Translator = &mirror{}

// NewMirrorPhysicalTranslator returns the translator of objects that are the same in
// both clusters and come from the host, as nodes do: names stay, every host object
// is managed, and metadata flows from the host to the virtual cluster. Its syncer
// has to implement UpSyncer: without it, host objects without a virtual one are
// deleted.
func NewMirrorPhysicalTranslator(name string, obj client.Object) Translator {
	return &mirror{name: name, obj: obj}
}

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

// TranslateMetadata takes the host object and returns the virtual one.
func (m *mirror) TranslateMetadata(pObj client.Object) client.Object {
	vObj := pObj.DeepCopyObject().(client.Object)
	ResetObjectMetadata(vObj)
	return vObj
}

// TranslateMetadataUpdate returns what the virtual object is to have: what the host
// object has.
func (m *mirror) TranslateMetadataUpdate(vObj, pObj client.Object) (changed bool, annotations, labels map[string]string) {
	annotations, labels = pObj.GetAnnotations(), pObj.GetLabels()
	return !equality.Semantic.DeepEqual(vObj.GetAnnotations(), annotations) || !equality.Semantic.DeepEqual(vObj.GetLabels(), labels), annotations, labels
}
