package sim

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A stripping is what is known of an object that a user replaced by its manifest.
type stripping struct {
	kind    Kind
	before  resource.Managed // as it was stored until then; shared
	passes  int              // that had begun
	version string           // that the replace made
	reads   int              // the pass that was the first to read it
	read    bool             // that pass has come to its end
}

// A plea is what excuses a judge: a kind of fault, in what became of an object. Nothing of it
// excuses what becomes of another.
type plea struct {
	kind Kind
	of   types.UID
}

// Pleads notes that a fault has taken away what nobody can know again of an object.
func (w *World) pleads(kind Kind, of types.UID) {
	if _, known := w.pleas[plea{kind, of}]; !known {
		w.pleas[plea{kind, of}] = false
	}
	w.pardoned = true
}

// Notes remembers the annotations that a user gives an object.
func (u *users) notes(mg resource.Managed, before map[string]string) {
	manifest := maps.Clone(u.manifests[mg.GetUID()])
	if manifest == nil {
		manifest = map[string]string{}
	}
	now := mg.GetAnnotations()
	for key := range before {
		if _, stays := now[key]; !stays {
			delete(manifest, key)
		}
	}
	for key, value := range now {
		if was, had := before[key]; !had || was != value {
			manifest[key] = value
		}
	}
	u.manifests[mg.GetUID()] = manifest
}

// Strip replaces every object by its manifest, as kubectl replace, Helm --force and Argo CD with
// Replace=true do: what is not in that goes from its metadata. The status stays.
func (w *World) strip(f Fault) {
	for _, mg := range w.users.all() {
		key, uid := keyOf(mg), mg.GetUID()
		now := w.users.get(key)
		if f.Kind != StripFinalizers {
			now.SetAnnotations(maps.Clone(w.users.manifests[uid]))
		}
		if f.Kind != StripAnnotations {
			now.SetFinalizers(nil)
		}
		w.users.must(w.users.client.Update(context.Background(), now))
		if w.users.see(key) == mg {
			continue // there was nothing to take away
		}
		s := stripping{kind: f.Kind, before: mg, passes: w.passes, version: now.GetResourceVersion()}
		if earlier, ok := w.strips[uid]; ok && !earlier.read {
			s.before = earlier.before // no pass has seen what is between them
		}
		w.strips[uid] = s
		if f.Kind != StripFinalizers && w.beyondRepair(s, f.Kind) {
			w.users.left[uid] = true
			w.pleads(f.Kind, uid)
		}
		w.losesStripped(mg)
	}
}

// BeyondRepair says whether a replace has taken what is known nowhere else, or what looks like the
// answer of a user.
//
// Two of these are no promises: only the annotations tell of the attempt of a process that is no
// more, and to remove them from an object that is blocked is what its condition asks for.
//
// The third is a restriction: a process does not remember an attempt of another process that it has
// read of, so that a replace is excused for as long as the result of that attempt is unknown or
// not observed, and not only until this process has read the object.
func (w *World) beyondRepair(s stripping, k Kind) bool {
	attempt := s.before.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	told := attempt != "" && strings.HasPrefix(s.before.GetCondition("Created").Message, attempt)
	mine := slices.ContainsFunc(w.alive(), func(p *process) bool { return p.number == w.callers[s.before.GetUID()] })
	switch {
	case w.outside.Traits().Named:
		return false
	case k == StripAnnotations && blocked(s.before):
		return true
	default:
		return attempt != "" && !told && !mine
	}
}

// LosesStripped notes that an object went at once because nothing kept it any more. Nobody can
// help that if no pass has read the object since its finalizer was taken away.
func (w *World) losesStripped(mg resource.Managed) {
	uid := mg.GetUID()
	s, stripped := w.strips[uid]
	if now := w.users.see(keyOf(mg)); !stripped || now != nil && now.GetUID() == uid {
		return
	}
	w.gone[uid] = true
	// A restriction: a pass puts a finalizer back when it has found the resource, and not while that
	// does not show yet.
	ready := mg.GetCondition(commonv1.TypeReady).Status == "True"
	switch {
	case s.read && ready && !meta.IsPaused(mg) && meta.ShouldDelete(mg) && len(w.outside.Of(uid)) > 0:
		w.violate("S5", "the finalizer that a replace took away was not put back, and the object went without its resource")
	default:
		w.users.left[uid] = true
		w.pleads(s.kind, uid)
	}
}

// Unkept says whether an object went although its provider had stored a finalizer: what a pass has just
// created for it may be taken back.
func (w *World) unkept(mg resource.Managed) bool {
	_, stripped := w.strips[mg.GetUID()]

	return w.snatched[mg.GetUID()] || stripped && w.gone[mg.GetUID()]
}

// StoredFor returns the object as it is stored to the knowledge of a process: a replace in the
// middle of a pass takes nothing away from what that pass has stored before.
func (w *World) storedFor(p *process, mg resource.Managed) resource.Managed {
	if s, ok := w.strips[mg.GetUID()]; ok && p.making <= s.passes {
		return s.before
	}

	return w.stored(mg)
}

// ReadsStripped notes that a pass begins with an object as a replace has left it.
func (w *World) readsStripped(p *process, key types.NamespacedName) {
	if len(w.strips) == 0 {
		return
	}
	o, ok := p.cache.objects[key]
	if !ok {
		return
	}
	if s, ok := w.strips[o.GetUID()]; ok && s.reads == 0 && !older(o, s.version) {
		s.reads = p.making
		w.strips[o.GetUID()] = s
	}
}

func older(o client.Object, version string) bool {
	is, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	than, err2 := strconv.ParseInt(version, 10, 64)

	return err == nil && err2 == nil && is < than
}

// EndsStripped notes that the first pass that read what a replace has left has ended, and how.
// One that failed, or was told to come again, has still to put back what is missing.
func (w *World) endsStripped(p *process, well bool) {
	for uid, s := range w.strips {
		if s.reads != p.making || s.read {
			continue
		}
		if s.read = well; !well {
			s.reads = 0
		}
		w.strips[uid] = s
	}
}

// ForgetsStripped notes what dies with a process: what it alone knew of objects of which a replace
// has taken the record.
func (w *World) forgetsStripped() {
	for uid, s := range w.strips {
		now, attempt := w.stored(s.before), s.before.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
		if now == nil || s.read || attempt == "" || now.GetAnnotations()[meta.AnnotationKeyCreateAttempt] != "" {
			continue
		}
		if told := now.GetCondition("Created"); !strings.HasPrefix(told.Message, attempt) && !w.outside.Traits().Named {
			w.users.left[uid] = true
			w.pleads(s.kind, uid)
		}
	}
}

// Unread says whether no pass has read an object since a replace, so that it will be written.
func (w *World) unread(mg resource.Managed) bool {
	s, stripped := w.strips[mg.GetUID()]

	return stripped && !s.read && !meta.IsPaused(mg)
}

// Unrestored says what a replace has taken from an object and was not put back.
func (w *World) unrestored(mg resource.Managed) string {
	s, stripped := w.strips[mg.GetUID()]
	switch {
	case !stripped || !meta.ShouldCreate(mg) || !meta.ShouldDelete(mg):
		return ""
	case meta.FinalizerExists(s.before, managed.FinalizerName) && !meta.FinalizerExists(mg, managed.FinalizerName):
		return "its finalizer was taken away, and not put back"
	case meta.GetExternalName(s.before) != "" && meta.GetExternalName(mg) == "":
		return "its external name was taken away, and not put back"
	default:
		return ""
	}
}

// Beside says whether so many resources more than one are excused by what befell their object.
func (w *World) beside(of types.UID, more int) bool {
	found := 0
	for p := range w.pleas {
		if p.of == of {
			found++
			w.pleas[p] = true
		}
	}

	return found >= more
}

// ExcusedKinds returns the kinds of faults that excused what would have been a violation otherwise.
func (w *World) excusedKinds() (kinds []Kind) {
	for p, used := range w.pleas {
		if (used || w.gone[p.of] && len(w.outside.Of(p.of)) > 0) && !slices.Contains(kinds, p.kind) {
			kinds = append(kinds, p.kind)
		}
	}
	slices.Sort(kinds)

	return kinds
}

// Stripped is how an object stands that a replace has left and no pass has read.
func (w *World) stripped(mg resource.Managed) uint64 {
	s, ok := w.strips[mg.GetUID()]
	if !ok || s.read {
		return 0
	}

	return mixed(looks(s.before), bit(s.reads != 0))
}
