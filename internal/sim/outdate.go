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

// recordTaken is the reason of the event that reports that a record was restored or overwritten.
const recordTaken = "CreationRecordTaken"

// outdate replaces the annotations of each object with earlier ones, as kubectl replace does with an exported manifest.
// The spec and the finalizers stay: the finalizer of the provider existed when the manifest was exported. A replace
// does not write the status.
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
			w.users.recordManifest(uid, given)
			w.users.acted, w.undone.writes = true, true
		}
		w.users.must(w.users.client.Update(context.Background(), now))
		s := stripping{
			kind: Outdate, given: recordOf(then), earlier: attemptOf(then) != "" && attemptOf(then) != w.newest(mg),
			before: mg, last: mg, passes: w.work.passes, change: len(w.server.Changes(0)),
		}
		if last, ok := w.undone.strips[uid]; ok && !last.read {
			s.kind, s.before = last.kind, last.before // no pass has seen what is between them
		}
		w.undone.strips[uid] = s
		if w.beyondRepair(s) {
			w.exempt.surplus.add(Outdate, s.before)
			w.exempt.lost.add(Outdate, s.before)
		}
	}
}

// A manifest has the annotations that users gave an object, starting with one change of the server. It is immutable.
type manifest struct {
	from        int
	annotations map[string]string
}

// recordManifest records that users gave an object other annotations.
func (u *users) recordManifest(of types.UID, annotations map[string]string) {
	if !maps.Equal(annotations, u.manifest(of)) {
		u.manifests[of] = append(slices.Clip(u.manifests[of]), manifest{len(u.world.server.Changes(0)), annotations})
	}
}

// manifest returns the annotations that users gave an object. They must not be changed.
func (u *users) manifest(of types.UID) map[string]string {
	return u.manifestAt(of, len(u.world.server.Changes(0)))
}

// manifestAt returns the annotations that users had given an object before a change of the server.
func (u *users) manifestAt(of types.UID, change int) (annotations map[string]string) {
	for _, m := range u.manifests[of] {
		if m.from <= change {
			annotations = m.annotations
		}
	}

	return annotations
}

// outdatedScenarios has the scenario in which a resource is lost and created again. Then a new version of the provider
// starts. After that a fault can write the record of the first creation back.
var outdatedScenarios = []scenario{{
	name: "made-again", begins: "create", onlyApart: true, doubts: true, lag: 5 * time.Millisecond,
	run: func(w *World) {
		w.users.create(newBucket("first"))
		w.settle()
		if mg := w.users.see(firstKey); mg != nil {
			w.removeNamed(firstKey, w.nameOf(mg))
		}
		w.settle()
		w.rollsOut()
		w.settle()
		w.quiet()
		w.users.delete(firstKey)
		w.settle()
	},
}}

// rollsOut asks the process to stop, as the rollout of a new version does. It is not a fault, but the limits of the
// load allow for one fault.
func (w *World) rollsOut() {
	w.plan.count++
	w.fired++
	for _, p := range w.alive() {
		if !p.ending.stopping && !p.leadership.held && !p.leadership.deposed {
			p.stop(graceful)
		}
	}
}

// exportable returns a hash of the difference between an object and its outdated manifest, if a fault may write that
// manifest.
func (w *World) exportable(mg resource.Managed) uint64 {
	if !w.guided.Doubts {
		return 0
	}
	then, _ := w.exported(mg)
	if then == nil {
		return 0
	}
	old := asManaged(then)

	return mixed(mixed(contentHash(old), w.relation(old)), bit(attemptOf(old) == attemptOf(mg)))
}

// exported returns the version of an object whose annotations a fault writes back, and the change of the server that
// made that version. It is the last version with the record of an earlier creation. If there is none, it is the first
// version with a record or with the chosen name whose annotations differ from the current ones.
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

// newest returns the id of the last attempt for an object, or "". Ids are ordered.
func (w *World) newest(mg resource.Managed) (id string) {
	for _, c := range w.server.Changes(0) {
		if c.Object.GetUID() == mg.GetUID() {
			id = max(id, attemptOf(c.Object))
		}
	}

	return id
}

// judgeOutdated checks that the provider reported a written earlier record by the end of the first pass that read it.
// If only that record had the last creation, the provider cannot report it.
func (w *World) judgeOutdated(s stripping) {
	mg := w.stored(s.before)
	if mg != nil && s.read && s.earlierRead && !w.external.Traits().Named && !w.sinks.taken[mg.GetUID()] &&
		!w.exempt.surplus.about(mg.GetUID()) {
		w.violate("L3", fmt.Sprintf("the record of an earlier creation was written to %s, and not reported",
			mg.GetName()))
	}
}
