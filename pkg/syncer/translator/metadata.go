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

// marks make the metadata of host objects.
type marks struct {
	names    translate.Names
	marker   string   // the value of translate.MarkerLabel
	excluded []string // annotations that are not copied; never changed
}

// TranslateMetadata returns a copy of a virtual object with the metadata of a host
// object in that namespace, under the package's default names.
func TranslateMetadata(physicalNamespace string, vObj client.Object, excludedAnnotations ...string) client.Object {
	names := translate.Default()
	m := marks{names: names, marker: names.Suffix, excluded: excludedAnnotations}
	host := types.NamespacedName{Namespace: physicalNamespace, Name: names.PhysicalName(vObj.GetName(), vObj.GetNamespace())}
	return m.create(vObj, host)
}

// TranslateMetadataUpdate returns the annotations and labels that a host object is
// to have under the package's default names, and whether it has other ones now.
func TranslateMetadataUpdate(vObj, pObj client.Object, excludedAnnotations ...string) (changed bool, annotations, labels map[string]string) {
	names := translate.Default()
	return marks{names: names, marker: names.Suffix, excluded: excludedAnnotations}.update(vObj, pObj)
}

// ResetObjectMetadata clears what an API server, a controller or another cluster
// put into an object's metadata. Names, labels and annotations stay.
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

func (m marks) update(vObj, pObj client.Object) (changed bool, annotations, labels map[string]string) {
	annotations, labels = m.annotations(vObj, pObj), m.labels(vObj, pObj)
	changed = !equality.Semantic.DeepEqual(annotations, pObj.GetAnnotations()) || !equality.Semantic.DeepEqual(labels, pObj.GetLabels())
	return changed, annotations, labels
}

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

// annotations are those of the virtual object and of the host, except for what was
// copied before and is not there any more.
func (m marks) annotations(vObj, pObj client.Object) map[string]string {
	out := map[string]string{}
	if pObj != nil {
		maps.Copy(out, pObj.GetAnnotations())
		for _, key := range copied(pObj) {
			delete(out, key)
		}
	}
	var keys []string
	for key, value := range vObj.GetAnnotations() {
		if slices.Contains(m.excluded, key) || reserved(key) {
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

// copied returns the keys that were taken from the virtual object the last time.
func copied(pObj client.Object) []string {
	list := pObj.GetAnnotations()[ManagedAnnotationsAnnotation]
	if list == "" {
		return nil
	}
	return slices.DeleteFunc(strings.Split(list, "\n"), reserved)
}

// reserved tells whether an annotation is one of ours: a virtual cluster may itself
// run on a host, so that its objects have them too.
func reserved(key string) bool {
	switch key {
	case NameAnnotation, NamespaceAnnotation, UIDAnnotation, ClusterAnnotation, ManagedAnnotationsAnnotation:
		return true
	}
	return false
}
