package syncer_test

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// checkWrite checks a write to the host. The owner of an image never changes.
func (v *schedule) checkWrite(verb string, before, after *corev1.ConfigMap) {
	if before == nil {
		return
	}
	v.note("host %s %s %s", verb, before.Name, before.UID)
	if _, foreign := v.foreign[before.UID]; foreign {
		v.fail("a foreign object was written: %s %s", verb, before.Name)
	}
	a := before.Annotations
	uid := a[translator.UIDAnnotation]
	if after != nil && after.UID == before.UID && uid != "" && uid != after.Annotations[translator.UIDAnnotation] {
		v.fail("the image of a former object was kept: %s", after.Name)
	}
	if verb != "delete" {
		return
	}
	v.deleted++
	of := v.tenant.stored(types.NamespacedName{
		Namespace: a[translator.NamespaceAnnotation], Name: a[translator.NameAnnotation],
	})
	if of != nil && string(of.UID) == uid && of.DeletionTimestamp == nil {
		v.fail("the image of an existing object was deleted: %s", before.Name)
	}
}

// settle makes all servers available and runs passes until nothing is pending.
func (v *schedule) settle() {
	v.note("rest")
	v.host.down, v.tenant.down, v.other.down = false, false, false
	if v.manager.server != v.tenant {
		v.swapClusters()
	}
	for range 30 {
		for n := 0; len(v.host.pending)+len(v.tenant.pending)+len(v.due) > 0; n++ {
			v.deliver()
			v.pass()
			if n > 1000 {
				v.fail("passes do not end")
				return
			}
		}
		v.clock.SetTime(v.clock.Now().Add(time.Minute))
		for n := len(v.later); n > 0; n-- {
			v.pass()
		}
	}
}

// check compares the host with the virtual cluster.
func (v *schedule) check() {
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
		if m.Annotations[translator.ClusterAnnotation] == string(v.other.clusterUID()) {
			// A process that was started with the other cluster made it for that one,
			// whose it stays.
			taken[key] = true
			continue
		}
		of := types.NamespacedName{
			Namespace: m.Annotations[translator.NamespaceAnnotation], Name: m.Annotations[translator.NameAnnotation],
		}
		images[of] = true
		want := v.tenant.stored(of)
		if want == nil || string(want.UID) != m.Annotations[translator.UIDAnnotation] || !maps.Equal(want.Data, m.Data) ||
			key != hostName(of) {
			v.fail("%s is not the image of %s: %v %v", key, of, m, want)
			continue
		}
		if changed, annotations, labels := v.marks.TranslateMetadataUpdate(want, m); changed {
			v.fail("%s has other metadata than %s: %v %v, want %v %v", key, of, m.Annotations, m.Labels, annotations, labels)
		}
	}
	for key := range v.tenant.all() {
		if !images[key] && !taken[hostName(key)] && !v.nameTaken(key, images) {
			v.fail("%s has no image", key)
		}
	}
}

// nameTaken reports whether another virtual object with the same host name has an image.
func (v *schedule) nameTaken(of types.NamespacedName, images map[types.NamespacedName]bool) bool {
	for key := range images {
		if key != of && hostName(key) == hostName(of) {
			return true
		}
	}
	return false
}

// newDataSyncer returns a syncer that does not restore labels and annotations.
func newDataSyncer(m *mapSyncer) syncer.Syncer { return dataSyncer{m} }

type dataSyncer struct{ *mapSyncer }

func (s dataSyncer) Sync(ctx *synccontext.SyncContext, pObj, vObj client.Object) (ctrl.Result, error) {
	updated := pObj.DeepCopyObject().(*corev1.ConfigMap)
	updated.Data = vObj.(*corev1.ConfigMap).Data
	return s.SyncDownUpdate(ctx, vObj, updated)
}
