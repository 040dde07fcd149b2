package sim

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A stripping records what is known of an object that a user replaced with its manifest.
type stripping struct {
	kind        Kind
	given       string           // the record of a creation that the replace wrote
	earlier     bool             // that record is not the last one
	before      resource.Managed // the last version that passes which have ended know; shared
	last        resource.Managed // the version that was replaced; shared
	passes      int              // that had begun
	change      int              // the change of the server that the replace made
	reads       int              // the first pass that read it
	read        bool             // that pass has ended
	earlierRead bool             // a pass has begun with an earlier record
	dropped     bool             // the API server did not store the finalizer that a pass restored
}

// strip replaces every object with its manifest, as kubectl replace, Helm --force and Argo CD with Replace=true do.
// This removes metadata that the manifest does not have. The status stays.
func (w *World) strip(f Fault) {
	for _, mg := range w.users.all() {
		key, uid := keyOf(mg), mg.GetUID()
		now := w.users.get(key)
		w.applyStrip(f, now)
		w.users.must(w.users.client.Update(context.Background(), now))
		if w.users.see(key) == mg {
			continue // there was nothing to take away
		}
		s := stripping{kind: f.Kind, before: mg, last: mg, passes: w.work.passes, change: len(w.server.Changes(0))}
		if f.Kind == StripOne {
			s.given = recordOf(now)
		}
		if earlier, ok := w.undone.strips[uid]; ok && !earlier.read {
			s.before = earlier.before // no pass has seen what is between them
		}
		w.undone.strips[uid] = s
		if f.Kind != StripFinalizers && w.beyondRepair(s) {
			w.exempt.surplus.add(f.Kind, s.before)
			if f.Kind == StripOne && externalName(mg) != "" && externalName(now) == "" {
				w.exempt.lost.add(f.Kind, s.before) // the record stays, and is of a creation without a name
			}
		}
		w.losesStripped(mg)
	}
}

// applyStrip removes from an object what a fault removes.
func (w *World) applyStrip(f Fault, o resource.Managed) {
	manifest := w.users.manifest(o.GetUID())
	if f.Kind == StripOne {
		key := record[min(max(f.Writes, 1), len(record))-1]
		if _, theirs := manifest[key]; theirs {
			return
		}
		if key == keyPending && (attempting(o) || isPending(o) && inherits(o)) {
			w.exempt.surplus.add(f.Kind, o) // that is how users say that there is no such resource
			w.users.answered[o.GetUID()] = true
		}
		unannotate(o, key)

		return
	}
	if f.Kind != StripFinalizers {
		o.SetAnnotations(maps.Clone(manifest))
	}
	if f.Kind != StripAnnotations {
		o.SetFinalizers(nil)
	}
}

// record has the annotations of the runtime that StripOne removes, one at a time.
var record = []string{keyExternalName, keyPending, keySucceeded, keyFailed, keyCreateAttempt}

// beyondRepair returns whether a replace has removed data that exists nowhere else, so that no guarantee holds. That is
// so if only the annotations had the attempt of a process that has ended, and no other process has read them.
func (w *World) beyondRepair(s stripping) bool {
	attempt, uid := attemptOf(s.before), s.before.GetUID()
	reported := attempt != "" && createdRecords(s.before, attempt)
	mine := slices.ContainsFunc(w.alive(), func(p *process) bool { return p.number == w.callers[uid] })
	read := slices.ContainsFunc(w.alive(), func(p *process) bool { return p.known.attempts[uid] == attempt })

	return !w.external.Traits().Named && attempt != "" && !reported && !mine && !read &&
		!(s.whole() && w.traced(s.before))
}

// losesStripped records that an object was removed at once because it had no finalizer. That cannot be prevented if no
// pass has read the object since its finalizer was removed. A user who removes the finalizer of an object that is being
// deleted ends the deletion, as with "kubectl patch".
func (w *World) losesStripped(mg resource.Managed) {
	uid := mg.GetUID()
	s, stripped := w.undone.strips[uid]
	if now := w.users.see(keyOf(mg)); !stripped || now != nil && now.GetUID() == uid {
		return
	}
	w.gone[uid] = true
	if s.dropped && s.read && w.effects.dropped == DroppedFinalizers && w.now().Before(w.effects.drops) {
		s.kind, s.read = DroppedFinalizers, false
	}
	switch {
	case s.read && !isPaused(mg) && allows(mg, toDelete) && len(w.external.Of(uid)) > 0:
		w.violate("S5", "the finalizer that a replace removed was not restored, and the object is gone without its resource")
	case !allows(mg, toDelete):
		w.users.orphaned(uid)
	case isDeleted(mg):
		w.exempt.freed.add(s.kind, mg)
	default:
		w.exempt.surplus.add(s.kind, s.before)
		w.exempt.surplus.add(s.kind, mg)
	}
}

// recordUserAnnotations records the annotations that a user gives an object.
func (u *users) recordUserAnnotations(mg resource.Managed, before map[string]string) {
	given := maps.Clone(u.manifest(mg.GetUID()))
	if given == nil {
		given = map[string]string{}
	}
	now := mg.GetAnnotations()
	for key := range before {
		if _, stays := now[key]; !stays {
			delete(given, key)
		}
	}
	for key, value := range now {
		if was, had := before[key]; !had || was != value {
			given[key] = value
		}
	}
	u.recordManifest(mg.GetUID(), given)
}

// Patch patches an object, and records if its answer lacks the finalizer that it should have stored.
func (c *cached) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	sent := isHeld(o)
	err := c.Client.Patch(ctx, o, patch, opts...)
	if err == nil && sent && !isHeld(o) && !isBeside(ctx) {
		c.process.world.dropsFinalizer(o.GetUID())
	}

	return err
}

// dropsFinalizer records that a pass restored a finalizer that a replace had removed, and that the API server did not
// store it.
func (w *World) dropsFinalizer(of types.UID) {
	if s, stripped := w.undone.strips[of]; stripped {
		s.dropped = true
		w.undone.strips[of] = s
	}
}

// lostInSpiteOfFinalizer returns whether an object was removed, or not restored, although it had its finalizer. A pass
// may then undo what it has just created for the object.
func (w *World) lostInSpiteOfFinalizer(mg resource.Managed) bool {
	_, stripped := w.undone.strips[mg.GetUID()]

	return w.exempt.raceDeleted[mg.GetUID()] || stripped && w.gone[mg.GetUID()] || w.vanished(mg)
}

// storedFor returns the stored object as a process knows it. A replace during a pass does not remove what the pass has
// stored before. A restore may undo the replace before the pass stores its attempt.
func (w *World) storedFor(p *process, mg resource.Managed) resource.Managed {
	now := w.stored(mg)
	if s, ok := w.undone.strips[mg.GetUID()]; ok && p.making <= s.passes && !intends(now, mg) {
		if attemptOf(s.last) != "" {
			return s.last
		}

		return s.before
	}

	return now
}

// intends returns whether an object is stored with a finalizer and with the attempt of a call.
func intends(stored, mg resource.Managed) bool {
	return stored != nil && attemptOf(mg) != "" && attemptOf(stored) == attemptOf(mg) && isHeld(stored)
}

// readsStripped records that a pass begins with an object in the state after a replace. A paused object stays in that
// state.
func (w *World) readsStripped(p *process, key types.NamespacedName) {
	if len(w.undone.strips) == 0 {
		return
	}
	o, ok := p.cache.objects[key]
	if !ok || isPaused(o) {
		return
	}
	if s, ok := w.undone.strips[o.GetUID()]; ok && s.reads == 0 && p.cache.read >= s.change {
		s.reads, s.earlierRead = p.making, s.earlierRead || s.earlier && recordOf(o) == s.given
		w.undone.strips[o.GetUID()] = s
	}
}

// endsStripped records that the first pass that read a replaced object has ended, and how. If it failed, was requeued
// or was deferred, a later pass has to restore what is missing.
func (w *World) endsStripped(p *process, well bool) {
	for uid, s := range w.undone.strips {
		if s.reads != p.making || s.read {
			continue
		}
		if s.read = well && w.calledExternal(p); !s.read {
			s.reads = 0
		}
		w.judgeOutdated(s)
		w.undone.strips[uid] = s
	}
}

// calledExternal returns whether the current pass of a process has made an external call.
func (w *World) calledExternal(p *process) bool {
	for _, e := range slices.Backward(w.trace) {
		if e.Process != p.number {
			continue // of another process
		}
		if e.Pass != p.making || e.Op.External {
			return e.Pass == p.making
		}
	}

	return false
}

// forgetsStripped records what is lost with a process: what only that process knew of objects whose record a replace
// has removed.
func (w *World) forgetsStripped() {
	for _, s := range w.undone.strips {
		now, attempt := w.stored(s.before), recordOf(s.before)
		if now == nil || s.read || attempt == "" || recordOf(now) != s.given {
			continue
		}
		if !createdRecords(now, attempt) && !w.external.Traits().Named && !(s.whole() && w.traced(s.before)) {
			w.exempt.surplus.add(s.kind, s.before)
			if s.given != "" {
				w.exempt.lost.add(s.kind, s.before)
			}
		}
	}
}

// whole returns whether nothing of the record is left.
func (s stripping) whole() bool { return s.kind != StripOne && s.given == "" }

// unread returns whether no pass has read an object since a replace. A pass will then write the object.
func (w *World) unread(mg resource.Managed) bool {
	s, stripped := w.undone.strips[mg.GetUID()]

	return stripped && !s.read && !isPaused(mg)
}

// unrestored returns what a replace has removed from an object and no pass has restored.
func (w *World) unrestored(mg resource.Managed) string {
	s, stripped := w.undone.strips[mg.GetUID()]
	switch {
	case !stripped || !allows(mg, toCreate) || !allows(mg, toDelete):
		return ""
	case isHeld(s.before) && !isHeld(mg):
		return "its finalizer was removed, and not restored"
	case externalName(s.before) != "" && externalName(mg) == "":
		return "its external name was removed, and not restored"
	default:
		return ""
	}
}

// stripped returns a hash of the state of an object after a replace that no pass has read.
func (w *World) stripped(mg resource.Managed) uint64 {
	s, ok := w.undone.strips[mg.GetUID()]
	if !ok || s.read && !s.dropped {
		return 0
	}

	return mixed(mixed(contentHash(s.before), bit(s.reads != 0)), bit(s.read)<<1+bit(s.dropped))
}
