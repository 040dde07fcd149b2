package sim

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A stripping is what is known of an object that a user replaced by its manifest.
type stripping struct {
	kind    Kind
	given   string           // the record of a creation that was written
	earlier bool             // it is one before the last
	before  resource.Managed // as it was stored until then, to the knowledge of passes that have ended; shared
	last    resource.Managed // as it was stored until then; shared
	passes  int              // that had begun
	change  int              // of the server, that the replace made
	reads   int              // the pass that was the first to read it
	read    bool             // that pass has come to its end
	met     bool             // a pass has begun with an earlier record
	dropped bool             // the API server did not store the finalizer that a pass put back
}

// notes remembers the annotations that a user gives an object.
func (u *users) notes(mg resource.Managed, before map[string]string) {
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
	u.gives(mg.GetUID(), given)
}

// Record are the annotations of ours that StripOne removes, one at a time.
var record = []string{keyExternalName, keyPending, keySucceeded, keyFailed, keyCreateAttempt}

// takes takes from an object what a fault takes from it.
func (w *World) takes(f Fault, o resource.Managed) {
	manifest := w.users.manifest(o.GetUID())
	if f.Kind == StripOne {
		key := record[min(max(f.Writes, 1), len(record))-1]
		if _, theirs := manifest[key]; theirs {
			return
		}
		if key == keyPending && (attempting(o) || isPending(o) && inherits(o)) {
			w.exemptions.add(f.Kind, o) // that is how users say that there is no such resource
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

// strip replaces every object by its manifest, as kubectl replace, Helm --force and Argo CD with
// Replace=true do: what is not in that goes from its metadata. The status stays.
func (w *World) strip(f Fault) {
	for _, mg := range w.users.all() {
		key, uid := keyOf(mg), mg.GetUID()
		now := w.users.get(key)
		w.takes(f, now)
		w.users.must(w.users.client.Update(context.Background(), now))
		if w.users.see(key) == mg {
			continue // there was nothing to take away
		}
		s := stripping{kind: f.Kind, before: mg, last: mg, passes: w.passes, change: len(w.server.Changes(0))}
		if f.Kind == StripOne {
			s.given = recordOf(now)
		}
		if earlier, ok := w.strips[uid]; ok && !earlier.read {
			s.before = earlier.before // no pass has seen what is between them
		}
		w.strips[uid] = s
		if f.Kind != StripFinalizers && w.beyondRepair(s) {
			w.exemptions.add(f.Kind, s.before)
			if f.Kind == StripOne && externalName(mg) != "" && externalName(now) == "" {
				w.lost.add(f.Kind, s.before) // the record stays, and is of a creation without a name
			}
		}
		w.losesStripped(mg)
	}
}

// beyondRepair says whether a replace has taken what is known nowhere else. That is no promise: only the
// annotations tell of the attempt of a process that is no more, until another has read them.
func (w *World) beyondRepair(s stripping) bool {
	attempt, uid := attemptOf(s.before), s.before.GetUID()
	told := attempt != "" && tellsOf(s.before, attempt)
	mine := slices.ContainsFunc(w.alive(), func(p *process) bool { return p.number == w.callers[uid] })
	read := slices.ContainsFunc(w.alive(), func(p *process) bool { return p.knows.attempts[uid] == attempt })

	return !w.outside.Traits().Named && attempt != "" && !told && !mine && !read && !(s.whole() && w.traced(s.before))
}

// whole says whether nothing of a record is left.
func (s stripping) whole() bool { return s.kind != StripOne && s.given == "" }

// losesStripped notes that an object went at once because nothing kept it any more. Nobody can
// help that if no pass has read the object since its finalizer was taken away. Who takes it from what
// is being deleted ends the deletion himself, as by "kubectl patch" of the finalizers.
func (w *World) losesStripped(mg resource.Managed) {
	uid := mg.GetUID()
	s, stripped := w.strips[uid]
	if now := w.users.see(keyOf(mg)); !stripped || now != nil && now.GetUID() == uid {
		return
	}
	w.gone[uid] = true
	if s.dropped && s.read && w.dropped == DroppedFinalizers && w.now().Before(w.drops) {
		s.kind, s.read = DroppedFinalizers, false
	}
	switch {
	case s.read && !isPaused(mg) && allows(mg, toDelete) && len(w.outside.Of(uid)) > 0:
		w.violate("S5", "the finalizer that a replace took away was not put back, and the object went without its resource")
	case !allows(mg, toDelete):
		w.users.orphaned(uid)
	case isDeleted(mg):
		w.freed.add(s.kind, mg)
	default:
		w.exemptions.add(s.kind, s.before)
		w.exemptions.add(s.kind, mg)
	}
}

// Patch notes that a finalizer which it was to store is not in the answer.
func (c *cached) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	sent := isHeld(o)
	err := c.Client.Patch(ctx, o, patch, opts...)
	if err == nil && sent && !isHeld(o) && !isBeside(ctx) {
		c.process.world.dropsFinalizer(o.GetUID())
	}

	return err
}

// dropsFinalizer notes that the finalizer of an object which a replace had left without one was put back, and not
// stored.
func (w *World) dropsFinalizer(of types.UID) {
	if s, stripped := w.strips[of]; stripped {
		s.dropped = true
		w.strips[of] = s
	}
}

// unkept says whether an object went, or was not restored, although its provider had stored a finalizer: what a pass
// has just created for it may be taken back.
func (w *World) unkept(mg resource.Managed) bool {
	_, stripped := w.strips[mg.GetUID()]

	return w.snatched[mg.GetUID()] || stripped && w.gone[mg.GetUID()] || w.vanished(mg)
}

// storedFor returns the object as it is stored to the knowledge of a process: a replace in the
// middle of a pass takes nothing away from what that pass has stored before. A restore may undo the replace before the
// pass stores its attempt.
func (w *World) storedFor(p *process, mg resource.Managed) resource.Managed {
	now := w.stored(mg)
	if s, ok := w.strips[mg.GetUID()]; ok && p.making <= s.passes && !intends(now, mg) {
		if attemptOf(s.last) != "" {
			return s.last
		}

		return s.before
	}

	return now
}

// intends says whether an object is stored with a finalizer, and marked with the attempt that a call makes.
func intends(stored, mg resource.Managed) bool {
	return stored != nil && attemptOf(mg) != "" && attemptOf(stored) == attemptOf(mg) && isHeld(stored)
}

// readsStripped notes that a pass begins with an object as a replace has left it. One that is paused is left as
// it is.
func (w *World) readsStripped(p *process, key types.NamespacedName) {
	if len(w.strips) == 0 {
		return
	}
	o, ok := p.cache.objects[key]
	if !ok || isPaused(o) {
		return
	}
	if s, ok := w.strips[o.GetUID()]; ok && s.reads == 0 && p.cache.read >= s.change {
		s.reads, s.met = p.making, s.met || s.earlier && recordOf(o) == s.given
		w.strips[o.GetUID()] = s
	}
}

// endsStripped notes that the first pass that read what a replace has left has ended, and how.
// One that failed, was told to come again, or was put off, has still to put back what is missing.
func (w *World) endsStripped(p *process, well bool) {
	for uid, s := range w.strips {
		if s.reads != p.making || s.read {
			continue
		}
		if s.read = well && w.looks(p); !s.read {
			s.reads = 0
		}
		w.judgeOutdated(s)
		w.strips[uid] = s
	}
}

// looks says whether the pass that a process makes has asked anything outside.
func (w *World) looks(p *process) bool {
	for _, e := range slices.Backward(w.trace) {
		if e.process != p.number {
			continue // another's
		}
		if e.pass != p.making || e.op.external {
			return e.pass == p.making
		}
	}

	return false
}

// forgetsStripped notes what dies with a process: what it alone knew of objects of which a replace
// has taken the record.
func (w *World) forgetsStripped() {
	for _, s := range w.strips {
		now, attempt := w.stored(s.before), recordOf(s.before)
		if now == nil || s.read || attempt == "" || recordOf(now) != s.given {
			continue
		}
		if !tellsOf(now, attempt) && !w.outside.Traits().Named && !(s.whole() && w.traced(s.before)) {
			w.exemptions.add(s.kind, s.before)
			if s.given != "" {
				w.lost.add(s.kind, s.before)
			}
		}
	}
}

// unread says whether no pass has read an object since a replace, so that it will be written.
func (w *World) unread(mg resource.Managed) bool {
	s, stripped := w.strips[mg.GetUID()]

	return stripped && !s.read && !isPaused(mg)
}

// unrestored says what a replace has taken from an object and was not put back.
func (w *World) unrestored(mg resource.Managed) string {
	s, stripped := w.strips[mg.GetUID()]
	switch {
	case !stripped || !allows(mg, toCreate) || !allows(mg, toDelete):
		return ""
	case isHeld(s.before) && !isHeld(mg):
		return "its finalizer was taken away, and not put back"
	case externalName(s.before) != "" && externalName(mg) == "":
		return "its external name was taken away, and not put back"
	default:
		return ""
	}
}

// stripped is how an object stands that a replace has left and no pass has read.
func (w *World) stripped(mg resource.Managed) uint64 {
	s, ok := w.strips[mg.GetUID()]
	if !ok || s.read && !s.dropped {
		return 0
	}

	return mixed(mixed(looks(s.before), bit(s.reads != 0)), bit(s.read)<<1+bit(s.dropped))
}
