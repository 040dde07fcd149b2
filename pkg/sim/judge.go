package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A Violation is a broken promise.
type Violation struct {
	Property string // a key of Properties
	Text     string
}

// Properties are what every schedule is checked for.
var Properties = map[string]string{
	"S1":  "there is at most one external resource for an object",
	"S2":  "an external name that was learnt is neither lost nor replaced",
	"S3":  "a create begins only when its intent is stored",
	"S4":  "a create begins only when the finalizer is stored",
	"S5":  "the finalizer goes only when the external resource is gone, or may stay",
	"S6":  "nothing is changed or deleted that the object does not own",
	"S7":  "nothing is changed outside for an object that is paused, or whose policy forbids it",
	"S8":  "no clock that is wrong makes anything unsafe",
	"S9":  "an object does not inherit from another of its name",
	"S10": "no secret is seen",
	"S11": "nothing crosses a namespace that was not granted to it",
	"S12": "no Secret of somebody else is written",
	"S13": "a process that was replaced begins no change outside",
	"S14": "an object is called ready only for the generation that was observed",
	"S15": "a pass makes at most one change outside",
	"S16": "what somebody else wrote on an object is not undone",
	"S17": "nothing is decided from a version older than what the process itself wrote",
	"S18": "to observe changes nothing, and asks for no change",
	"S19": "a status is neither lost nor replaced by an older one",
	"S20": "a paused object is left as it is",
	"S21": "nothing is changed in a system in which the resource is not",
	"S22": "what is guarded does not go with its namespace or its kind",
	"S23": "the end is that of a run in which nothing went wrong",
	"S24": "what a cache keeps is changed by nobody who reads it",
	"S25": "what only Create tells is stored before anything else is asked, or is said to be lost",
	"S26": "the finalizer of a predecessor goes only once ours is stored, or the external resource is gone",
	"S27": "what a predecessor began to create, and nobody knows the result of, is not created again before a user says so",
	"L1":  "an object becomes what was asked for, and stays so",
	"L2":  "a deleted object goes, and its external resource with it",
	"L3":  "nothing is stuck without a word, and what cannot be known has a way out",
	"L4":  "nothing is written when nothing changes",
	"L5":  "failures do not make it busy",
	"L6":  "users are served first, and nobody waits for ever",
	"L7":  "what is away is not asked again and again, and no process ends for it",
	"L8":  "nothing is kept of objects that are gone",
}

func (w *World) violate(property, text string) {
	if w.course.joined {
		return // what is judged now means nothing
	}
	for _, v := range w.violation {
		if v.Property == property && v.Text == text {
			return
		}
	}
	w.violation = append(w.violation, Violation{property, text})
	if w.verbose {
		w.told.lines = append(w.told.lines, fmt.Sprintf("%10s      VIOLATION of %s: %s", w.since(), property, text))
	}
}

// stored returns the object that mg is, as it is stored now, or nil.
func (w *World) stored(mg resource.Managed) resource.Managed {
	o, ok := w.server.Stored(w.config.gvk(), keyOf(mg)).(resource.Managed)
	if !ok || o.GetUID() != mg.GetUID() {
		return nil
	}

	return o
}

// base returns the version of the object that a call is made from.
func (w *World) base(mg resource.Managed) client.Object {
	changes := w.server.Changes(0)
	for i := len(changes) - 1; i >= 0; i-- {
		if c := changes[i]; c.Object.GetUID() == mg.GetUID() && c.Object.GetResourceVersion() == mg.GetResourceVersion() {
			return c.Object
		}
	}

	return nil
}

// forejudge judges an operation that is about to have its effect.
func (w *World) forejudge(p *process, o operation) {
	w.forejudgeRequest(p, o)
	if !o.external || !o.mutates {
		return
	}
	if p.deposed && !p.excused {
		w.violate("S13", o.name+" begun by a process that was replaced")
	}
	if renewed := p.renewed.Load(); renewed != nil && !p.excused && w.now().After(renewed.Add(renewDeadline)) {
		w.violate("S13", o.name+" begun by a process whose lease is over")
	}
	if p.mutations[keyOf(o.mg)]++; p.mutations[keyOf(o.mg)] > 1 && !(o.name == "Delete" && w.unkept(o.mg)) {
		w.violate("S15", o.name+" after another change in the same pass")
	}
	if o.name == "Create" && !p.excused {
		w.creates[keyOf(o.mg)]++
	}
	if w.repeats() {
		return
	}
	w.forejudgePolicy(o)
	switch {
	case p.excused: // it was under way when the world went on without the process
	case o.name == "Create":
		w.forejudgeCreate(p, o)
	default:
		w.forejudgeOwner(o)
	}
}

func (w *World) forejudgeCreate(p *process, o operation) {
	w.callers[o.mg.GetUID()] = p.number
	now := w.outdates(p, o.mg, w.storedFor(p, o.mg))
	if now == nil && w.snatched[o.mg.GetUID()] {
		return // its finalizer was stored
	}
	if now == nil || !isHeld(now) {
		w.violate("S4", "Create without a finalizer that is stored")

		return
	}
	if w.outside.Traits().Named {
		return
	}
	w.forejudgeRepeat(now)
	attempt := recordOf(now)
	if !isPending(now) || attempt != recordOf(o.mg) {
		w.violate("S3", "Create of an attempt that is not the one that is stored")
	}
}

func (w *World) forejudgePolicy(o operation) {
	base := w.base(o.mg)
	if base == nil {
		return
	}
	if w.astray(base.(resource.Managed)) { //nolint:forcetypeassert // of the kind
		w.violate("S21", o.name+" in a system in which the resource is not")
	}
	if since := base.GetDeletionTimestamp(); o.name == "Delete" && !w.evicted.IsZero() && since != nil && !since.Time.Before(w.evicted.Truncate(time.Second)) {
		w.violate("S22", "Delete of what is to stay when the namespace or the kind goes")
	}
	switch {
	case isPaused(base):
		w.violate("S7", o.name+" for an object that is paused")
	case !allows(base, action(o.name)):
		w.violate("S7", o.name+" for an object whose policy forbids it")
	}
}

func (w *World) forejudgeOwner(o operation) {
	of, exists := w.outside.MadeFor(o.mg)
	if !exists || of == o.mg.GetUID() || of != somebody && w.users.adopted[o.mg.GetUID()] || of == somebody && o.name == "Delete" && w.misled.excuses(o.mg.GetUID(), whatever) {
		return
	}
	property := "S6"
	if of != "" && of != somebody {
		property = "S9"
	}
	w.violate(property, fmt.Sprintf("%s of a resource that was made for %q, by %q", o.name, of, o.mg.GetUID()))
}

// judge judges what an operation has done.
func (w *World) judge(p *process, o operation) {
	w.storesKey(p)
	if o.external {
		w.judgeExternal(p, o)

		return
	}
	w.judgeUnstored(o)
	for _, c := range w.server.Changes(w.judged) {
		w.writes[c.Key.Name]++
		w.judgeWrites(c.Key)
		if c.Kind != w.config.gvk() {
			w.judgeOther(c)

			continue
		}
		// objects of the kind are managed
		now := c.Object.(resource.Managed) //nolint:forcetypeassert // see above
		if c.Old != nil {
			w.unlocks(p, c.Old, now)
			w.judgeWrite(p, c, now)
			w.judgeStatus(p, c)
			w.judgeTheirFinalizer(c, now)
		}
		if !w.repeats() {
			w.judgeChange(p, o, c)
		}
		if c.Type == apiserver.Deleted {
			w.judgeGone(now)
		}
	}
}

// judgeChange judges what a write tells by itself.
func (w *World) judgeChange(p *process, o operation, c apiserver.Change) {
	if c.Old != nil {
		w.judgeAnnotations(c)
		w.judgeMeant(p, c)
		w.judgePause(p, o, c)
	}
	w.judgeSecrets(c)
}

// judgeOther judges a write of an object of another kind.
func (w *World) judgeOther(c apiserver.Change) {
	if c.Old == nil {
		return
	}
	of := metav1.GetControllerOf(c.Old)
	for _, mg := range w.users.all() {
		if of != nil && of.UID == mg.GetUID() {
			return
		}
	}
	w.violate("S12", fmt.Sprintf("the %s %s of somebody else was written", c.Kind.Kind, c.Key.Name))
}

func (w *World) judgeExternal(p *process, o operation) {
	if o.mg == nil {
		return
	}
	if now := w.stored(o.mg); o.name == "Delete" && p.outdated && now != nil && !isDeleted(now) {
		w.undeleted.add(Rewound, o.mg)
	}
	if w.repeats() {
		return
	}
	if n := w.tooMany(o.mg.GetUID()); n > 0 {
		w.violate(w.asClock("S1"), fmt.Sprintf("there are %d resources for %s", n, o.mg.GetUID()))
	}
}

// tooMany returns how many resources an object has, if those are more than it may have: one, and one that its user
// left when he gave it the name of another, which was taken away and made again.
func (w *World) tooMany(of types.UID) int {
	live := w.outside.Of(of)
	if len(live) <= 1 {
		return 0
	}
	switch rest := len(w.unexcused(of)); {
	case rest <= 1, rest == 2 && w.users.left[of] && (w.lostName(of) || w.undeleted.excuses(of, whatever)):
		return 0
	default:
		return len(live)
	}
}

// lostName says whether others took away what an object stands for, or stood for under another name.
func (w *World) lostName(of types.UID) bool {
	return slices.ContainsFunc(w.server.Changes(0), func(c apiserver.Change) bool {
		return c.Object.GetUID() == of && w.vacated[externalName(c.Object)]
	})
}

// asClock names the property that is broken when clocks were wrong before.
func (w *World) asClock(property string) string {
	for _, p := range w.processes {
		if p.clock.by != 0 {
			return "S8"
		}
	}

	return property
}

// lostNames says whether one of the objects has, or had, the name of what others took away.
func (w *World) lostNames() bool {
	return len(w.vacated) > 0 && slices.ContainsFunc(w.objects(), func(mg resource.Managed) bool { return w.lostName(mg.GetUID()) })
}

func (w *World) judgeWrite(p *process, c apiserver.Change, now resource.Managed) {
	before, after := externalName(c.Old), externalName(now)
	moved := now.GetAnnotations()[keyAllowBackendChange] != "" // its user said so
	if before != "" && after != before && !moved && !w.vacated[before] && !w.lapsed(asManaged(c.Old)) {
		w.violate("S2", fmt.Sprintf("the external name %q was replaced by %q", before, after))
	}
	if c.Old.GetGeneration() == p.observed[now.GetUID()] {
		p.observed[now.GetUID()] = now.GetGeneration() // what it filled in itself was observed
	}
	was, is := conditionOf(c.Old, "Ready"), conditionOf(now, "Ready")
	if is.Status == "True" && (was.Status != "True" || was.ObservedGeneration != is.ObservedGeneration) && p.observed[now.GetUID()] < is.ObservedGeneration && !w.noLock(p, now) {
		w.violate("S14", fmt.Sprintf("ready for generation %d, but %d was observed", is.ObservedGeneration, p.observed[now.GetUID()]))
	}
}

// judgeSecrets looks at what was written to an object but for its spec, which is
// its user's.
func (w *World) judgeSecrets(c apiserver.Change) {
	for _, part := range []string{"metadata", "status"} {
		if at := w.shownIn(c.Image[part], part); at != "" {
			w.violate("S10", "the object shows a secret in "+at)
		}
	}
}

func (w *World) secret(text string) bool {
	if len(text) < w.shortest {
		return false
	}

	return slices.ContainsFunc(w.secrets, func(secret string) bool { return strings.Contains(text, secret) })
}

func (w *World) hide(text string) string {
	for _, secret := range w.secrets {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}

	return text
}

// judgeGone judges that the provider let an object go.
func (w *World) judgeGone(mg resource.Managed) {
	w.gone[mg.GetUID()] = true
	if !allows(mg, toDelete) || w.mayStay(mg.GetUID()) {
		w.users.orphaned(mg.GetUID())

		return
	}
	if live := w.unexcused(mg.GetUID()); len(live) > 0 {
		w.violate("S5", fmt.Sprintf("%s went, and its resource %s stays", mg.GetUID(), live[0]))
	}
}

// leaks returns resources whose objects are gone.
func (w *World) leaks() []string {
	var out []string
	for uid := range w.gone {
		if !w.mayStay(uid) {
			out = append(out, w.unexcused(uid)...)
		}
	}
	slices.Sort(out)

	return out
}
