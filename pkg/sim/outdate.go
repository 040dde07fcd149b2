package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// RecordTaken is the reason of the event that tells of a record that was taken, or written over.
const recordTaken = "CreationRecordTaken"

// A resource is lost, and made again by the next pass that misses it. Then a new version of the provider begins. The
// record of the first creation can be written back after that.
var remade = []scenario{{
	name: "made-again", begins: "create", apart: true, doubts: true, lag: 5 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.settle()
		if mg := w.users.see(firstKey); mg != nil {
			w.vacate(firstKey, w.nameOf(mg))
		}
		w.settle()
		w.rollsOut()
		w.settle()
		w.quiet()
		w.users.delete(firstKey)
		w.settle()
	},
}}

// rollsOut asks the process to stop, as a new version of its Deployment does. That is no fault, but it is allowed what
// one is.
func (w *World) rollsOut() {
	w.planned++
	w.fired++
	for _, p := range w.alive() {
		if !p.stopping && !p.held && !p.deposed {
			p.stop(graceful)
		}
	}
}

// A manifest is the annotations that users gave an object, after so many changes of the server. It does not change.
type manifest struct {
	from        int
	annotations map[string]string
}

// gives remembers that users gave an object other annotations than before.
func (u *users) gives(of types.UID, annotations map[string]string) {
	if !maps.Equal(annotations, u.manifest(of)) {
		u.manifests[of] = append(slices.Clip(u.manifests[of]), manifest{len(u.world.server.Changes(0)), annotations})
	}
}

// manifest returns the annotations that users gave an object. They must not be changed.
func (u *users) manifest(of types.UID) map[string]string {
	return u.manifestAt(of, len(u.world.server.Changes(0)))
}

// manifestAt returns those that they had given it before a change of the server.
func (u *users) manifestAt(of types.UID, change int) (annotations map[string]string) {
	for _, m := range u.manifests[of] {
		if m.from <= change {
			annotations = m.annotations
		}
	}

	return annotations
}

// outdate writes the annotations back that each object once had, as kubectl replace does with a manifest that was
// exported with them. The spec is as it was meanwhile, and so are the finalizers: the provider's was there when a
// record was. The status is not written by a replace.
func (w *World) outdate() {
	for _, mg := range w.users.all() {
		then, at := w.exported(mg)
		if then == nil {
			continue
		}
		key, uid := keyOf(mg), mg.GetUID()
		now, given := w.users.get(key), w.users.manifestAt(uid, at)
		now.SetAnnotations(maps.Clone(then.GetAnnotations()))
		if !maps.Equal(given, w.users.manifest(uid)) { // what users said since is undone
			w.users.gives(uid, given)
			w.users.acted, w.undone = true, true
		}
		w.users.must(w.users.client.Update(context.Background(), now))
		s := stripping{
			kind: Outdate, given: recordOf(then), earlier: attemptOf(then) != "" && attemptOf(then) != w.newest(mg),
			before: mg, last: mg, passes: w.passes, change: len(w.server.Changes(0)),
		}
		if last, ok := w.strips[uid]; ok && !last.read {
			s.kind, s.before = last.kind, last.before // no pass has seen what is between them
		}
		w.strips[uid] = s
		if w.beyondRepair(s) {
			w.exemptions.add(Outdate, s.before)
			w.lost.add(Outdate, s.before)
		}
	}
}

// exported returns the version of an object whose annotations are written back, and which change of the server made
// it: the last with the record of a creation before the last one. If there was no other, it is the first that has a
// record, or the name that was chosen, and other annotations than now.
func (w *World) exported(mg resource.Managed) (then client.Object, at int) {
	newest := w.newest(mg)
	versions := w.server.Changes(0)
	for i := range slices.Backward(versions) {
		o := versions[i].Object
		if o.GetUID() != mg.GetUID() || versions[i].Type == apiserver.Deleted {
			continue
		}
		if id := attemptOf(o); id != "" && id != newest {
			return o, i
		}
		if (attemptOf(o) != "" || externalName(o) != "") && !maps.Equal(o.GetAnnotations(), mg.GetAnnotations()) {
			then, at = o, i
		}
	}

	return then, at
}

// newest returns the id of the last attempt that an object was ever marked with, or nothing. They are in order.
func (w *World) newest(mg resource.Managed) (id string) {
	for _, c := range w.server.Changes(0) {
		if c.Object.GetUID() == mg.GetUID() {
			id = max(id, attemptOf(c.Object))
		}
	}

	return id
}

// exportable is how that stands to an object which an outdated manifest has, where somebody may write it.
func (w *World) exportable(mg resource.Managed) uint64 {
	if w.course.inquiry == nil || !w.course.inquiry.doubts {
		return 0
	}
	then, _ := w.exported(mg)
	if then == nil {
		return 0
	}
	old := asManaged(then)

	return mixed(mixed(looks(old), w.relation(old)), bit(attemptOf(old) == attemptOf(mg)))
}

// judgeOutdated judges that it was told, once a pass that has read the record of an earlier creation has ended. Of a
// last one that nobody knows without its record nobody can tell.
func (w *World) judgeOutdated(s stripping) {
	mg := w.stored(s.before)
	if mg != nil && s.read && s.met && !w.outside.Traits().Named && !w.told.taken[mg.GetUID()] && !w.exemptions.about(mg.GetUID()) {
		w.violate("L3", fmt.Sprintf("the record of an earlier creation was written to %s, and nothing was said", mg.GetName()))
	}
}
