package translator

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/translate"
)

// marks define the metadata of host objects: the ownership marks and the copied labels
// and annotations.
type marks struct {
	names    translate.Names
	marker   string   // the value of translate.MarkerLabel
	excluded []string // annotations that are not copied
}

// TranslateMetadata returns a copy of a virtual object with the metadata of its host object. The argument
// physicalNamespace is the namespace of the host object. TranslateMetadata uses translate.Default(). Annotations whose
// keys are in the argument excludedAnnotations are not copied.
func TranslateMetadata(physicalNamespace string, vObj client.Object, excludedAnnotations ...string) client.Object {
	names := translate.Default()
	m := marks{names: names, marker: names.Suffix, excluded: excludedAnnotations}
	host := types.NamespacedName{
		Namespace: physicalNamespace, Name: names.PhysicalName(vObj.GetName(), vObj.GetNamespace()),
	}
	return m.create(vObj, host)
}

// TranslateMetadataUpdate returns the desired annotations and labels of an existing host object, and whether they
// differ from the current ones. It uses translate.Default(). Annotations whose keys are in the argument
// excludedAnnotations are not copied.
func TranslateMetadataUpdate(
	vObj, pObj client.Object, excludedAnnotations ...string,
) (changed bool, annotations, labels map[string]string) {
	names := translate.Default()
	return marks{names: names, marker: names.Suffix, excluded: excludedAnnotations}.update(vObj, pObj)
}

// ResetObjectMetadata clears the metadata that an API server, a controller or another cluster has
// set. It keeps the name, namespace, labels and annotations.
func ResetObjectMetadata(obj metav1.Object) {
	obj.SetGenerateName("")
	obj.SetSelfLink("")
	obj.SetUID("")
	obj.SetResourceVersion("")
	obj.SetGeneration(0)
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetOwnerReferences(nil)
	obj.SetFinalizers(nil)
	obj.SetManagedFields(nil)
}

// create returns a copy of a virtual object with the metadata of a new host object.
func (m marks) create(vObj client.Object, host types.NamespacedName) client.Object {
	pObj := vObj.DeepCopyObject().(client.Object)
	ResetObjectMetadata(pObj)
	pObj.SetName(host.Name)
	pObj.SetNamespace(host.Namespace)
	pObj.SetAnnotations(m.annotations(vObj, nil))
	pObj.SetLabels(m.labels(vObj, nil))
	if host.Namespace != "" {
		pObj.SetOwnerReferences(m.names.OwnerReferences(host.Namespace))
	}
	return pObj
}

// update returns the desired annotations and labels of an existing host object, and whether they
// differ from the current ones.
func (m marks) update(vObj, pObj client.Object) (changed bool, annotations, labels map[string]string) {
	annotations, labels = m.annotations(vObj, pObj), m.labels(vObj, pObj)
	changed = !equality.Semantic.DeepEqual(annotations, pObj.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(labels, pObj.GetLabels())
	return changed, annotations, labels
}

// labels returns the desired labels of a host object. pObj is nil if the host object does not
// exist.
func (m marks) labels(vObj, pObj client.Object) map[string]string {
	out := map[string]string{}
	for key, value := range vObj.GetLabels() {
		if key == translate.NamespaceLabel {
			continue
		}
		out[m.names.ConvertLabelKeyWithPrefix(translate.LabelPrefix, key)] = value
	}
	if pObj != nil {
		if controller, there := pObj.GetLabels()[translate.ControllerLabel]; there {
			out[translate.ControllerLabel] = controller
		}
	}
	out[translate.MarkerLabel] = m.marker
	if vObj.GetNamespace() != "" {
		out[translate.NamespaceLabel] = vObj.GetNamespace()
	}
	return out
}

// annotations returns the desired annotations of a host object: the annotations of the virtual
// object, and the annotations that the host has added. It omits annotations that were copied before
// and that the virtual object no longer has.
func (m marks) annotations(vObj, pObj client.Object) map[string]string {
	out := map[string]string{}
	if pObj != nil {
		maps.Copy(out, pObj.GetAnnotations())
		for _, key := range copiedKeys(pObj) {
			delete(out, key)
		}
	}
	var keys []string
	for key, value := range vObj.GetAnnotations() {
		if slices.Contains(m.excluded, key) || isReserved(key) {
			continue
		}
		keys = append(keys, key)
		out[key] = value
	}
	slices.Sort(keys)
	for key, value := range map[string]string{
		NameAnnotation:               vObj.GetName(),
		NamespaceAnnotation:          vObj.GetNamespace(),
		UIDAnnotation:                string(vObj.GetUID()),
		ClusterAnnotation:            m.names.Cluster,
		ManagedAnnotationsAnnotation: strings.Join(keys, "\n"),
	} {
		delete(out, key)
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// copiedKeys returns the keys of the annotations that were copied from the virtual
// object.
func copiedKeys(pObj client.Object) []string {
	list := pObj.GetAnnotations()[ManagedAnnotationsAnnotation]
	if list == "" {
		return nil
	}
	return slices.DeleteFunc(strings.Split(list, "\n"), isReserved)
}

// isReserved reports whether an annotation is one of the ownership marks. A virtual object has such
// annotations if its virtual cluster is itself the host of another virtual cluster.
func isReserved(key string) bool {
	switch key {
	case NameAnnotation, NamespaceAnnotation, UIDAnnotation, ClusterAnnotation, ManagedAnnotationsAnnotation:
		return true
	}
	return false
}
