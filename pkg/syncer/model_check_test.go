package syncer_test

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// guard looks at every write to the host that was done. To whom an image belongs never
// changes.
func (v *voyage) guard(verb string, before, after *corev1.ConfigMap) {
	if before == nil {
		return
	}
	v.note("host %s %s %s", verb, before.Name, before.UID)
	if _, foreign := v.foreign[before.UID]; foreign {
		v.fail("a foreign object is written: %s %s", verb, before.Name)
	}
	a := before.Annotations
	uid := a[translator.UIDAnnotation]
	if after != nil && after.UID == before.UID && uid != "" && uid != after.Annotations[translator.UIDAnnotation] {
		v.fail("the image of a former object is taken over: %s", after.Name)
	}
	if verb != "delete" {
		return
	}
	v.deleted++
	of := v.tenant.stored(types.NamespacedName{Namespace: a[translator.NamespaceAnnotation], Name: a[translator.NameAnnotation]})
	if of != nil && string(of.UID) == uid && of.DeletionTimestamp == nil {
		v.fail("the image of a living object is deleted: %s", before.Name)
	}
}

// check compares the host with the virtual side.
func (v *voyage) check() {
	taken := map[types.NamespacedName]bool{} // host names of foreign objects
	images := map[types.NamespacedName]bool{}
	host := v.host.all()
	for key, m := range host {
		if data, foreign := v.foreign[m.UID]; foreign {
			taken[key] = true
			if m.Data["whose"] != data || len(m.Labels)+len(m.Annotations) > 0 {
				v.fail("a foreign object was changed: %v", m)
			}
			continue
		}
		if m.Annotations[translator.ClusterAnnotation] == string(v.foe.system()) {
			// A process that was started with the other cluster made it for that one,
			// whose it stays.
			taken[key] = true
			continue
		}
		of := types.NamespacedName{Namespace: m.Annotations[translator.NamespaceAnnotation], Name: m.Annotations[translator.NameAnnotation]}
		images[of] = true
		want := v.tenant.stored(of)
		if want == nil || string(want.UID) != m.Annotations[translator.UIDAnnotation] || !maps.Equal(want.Data, m.Data) || key != hostName(of) {
			v.fail("%s is no image of %s: %v %v", key, of, m, want)
		}
	}
	for key := range v.tenant.all() {
		if !images[key] && !taken[hostName(key)] && !v.twin(key, images) {
			v.fail("%s has no image", key)
		}
	}
}

// twin tells whether another object has the host name, and an image there.
func (v *voyage) twin(of types.NamespacedName, images map[types.NamespacedName]bool) bool {
	for key := range images {
		if key != of && hostName(key) == hostName(of) {
			return true
		}
	}
	return false
}
