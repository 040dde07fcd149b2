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

// A Violation is a property that did not hold in a run.
type Violation struct {
	Property string // a key of Properties
	Text     string
}

// judge checks the effect of an operation.
func (w *World) judge(p *process, o Operation) {
	w.storesKey(p)
	if o.External {
		w.judgeExternal(p, o)

		return
	}
	w.judgeUnstored(o)
	for _, c := range w.server.Changes(w.judged) {
		w.work.writes[c.Key.Name]++
		w.judgeWrites(c.Key)
		if c.Kind != w.config.gvk() {
			w.judgeOther(c)

			continue
		}
		// objects of the kind are managed
		now := c.Object.(resource.Managed)
		if c.Old != nil {
			w.unlocks(p, c.Old, now)
			w.judgeWrite(p, c, now)
			w.judgeStatus(p, c)
			w.judgeTheirFinalizer(c, now)
		}
		if !w.judgedBefore() {
			w.judgeChange(p, o, c)
		}
		if c.Type == apiserver.Deleted {
			w.judgeGone(now)
		}
	}
}

func (w *World) judgeExternal(p *process, o Operation) {
	if o.mg == nil {
		return
	}
	if now := w.stored(o.mg); o.Name == "Delete" && p.restored.outdated && now != nil && !isDeleted(now) {
		w.exempt.undeleted.add(Rewound, o.mg)
	}
	if w.judgedBefore() {
		return
	}
	if n := w.tooMany(o.mg.GetUID()); n > 0 {
		w.violate(w.asClock("S1"), fmt.Sprintf("there are %d resources for %s", n, o.mg.GetUID()))
	}
}

// stored returns the stored version of mg, or nil.
func (w *World) stored(mg resource.Managed) resource.Managed {
	o, ok := w.server.Stored(w.config.gvk(), keyOf(mg)).(resource.Managed)
	if !ok || o.GetUID() != mg.GetUID() {
		return nil
	}

	return o
}

// tooMany returns the number of resources of an object if it has too many, and zero otherwise. An object may have one
// resource. It may have a second one if its user left that resource by naming another one, which was then deleted and
// created again.
func (w *World) tooMany(of types.UID) int {
	live := w.external.Of(of)
	if len(live) <= 1 {
		return 0
	}
	switch rest := len(w.unexcused(of)); {
	case rest <= 1, rest == 2 && w.users.left[of] && (w.lostName(of) || w.exempt.undeleted.excuses(of, anyExemption)):
		return 0
	default:
		return len(live)
	}
}

// asClock returns the violated property. It returns S8 if a clock was wrong.
func (w *World) asClock(property string) string {
	for _, p := range w.processes {
		if p.clock.by != 0 {
			return "S8"
		}
	}

	return property
}

// judgeOther checks a write of an object of another kind.
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
	w.violate("S12", fmt.Sprintf("the %s %s of another owner was written", c.Kind.Kind, c.Key.Name))
}

func (w *World) judgeWrite(p *process, c apiserver.Change, now resource.Managed) {
	before, after := externalName(c.Old), externalName(now)
	moved := now.GetAnnotations()[keyAllowBackendChange] != "" // its user said so
	if before != "" && after != before && !moved && !w.exempt.vacated[before] && !w.lapsed(asManaged(c.Old)) {
		w.violate("S2", fmt.Sprintf("the external name %q was replaced by %q", before, after))
	}
	if c.Old.GetGeneration() == p.observed.generation[now.GetUID()] {
		p.observed.generation[now.GetUID()] = now.GetGeneration() // what it filled in itself was observed
	}
	was, is := conditionOf(c.Old, "Ready"), conditionOf(now, "Ready")
	if is.Status == "True" && (was.Status != "True" || was.ObservedGeneration != is.ObservedGeneration) &&
		p.observed.generation[now.GetUID()] < is.ObservedGeneration && !w.noLock(p, now) {
		w.violate("S14", fmt.Sprintf("ready for generation %d, but %d was observed", is.ObservedGeneration,
			p.observed.generation[now.GetUID()]))
	}
}

// judgeChange checks a write by its content.
func (w *World) judgeChange(p *process, o Operation, c apiserver.Change) {
	if c.Old != nil {
		w.judgeAnnotations(c)
		w.judgeTarget(p, c)
		w.judgePause(p, o, c)
	}
	w.judgeSecrets(c)
}

// judgeSecrets checks that a written object shows no secret, except in its spec, which the user writes.
func (w *World) judgeSecrets(c apiserver.Change) {
	for _, part := range []string{"metadata", "status"} {
		if at := w.secretPath(c.Image[part], part); at != "" {
			w.violate("S10", "the object shows a secret in "+at)
		}
	}
}

// judgeGone checks that the provider removed the finalizer of an object.
func (w *World) judgeGone(mg resource.Managed) {
	w.gone[mg.GetUID()] = true
	if !allows(mg, toDelete) || w.mayStay(mg.GetUID()) {
		w.users.orphaned(mg.GetUID())

		return
	}
	if live := w.unexcused(mg.GetUID()); len(live) > 0 {
		w.violate("S5", fmt.Sprintf("%s is gone, and its resource %s stays", mg.GetUID(), live[0]))
	}
}

// Properties are the properties that every run has to satisfy, by the name that a Violation has.
var Properties = map[string]string{
	"S1":  "an object has at most one external resource",
	"S2":  "a known external name is neither lost nor replaced",
	"S3":  "Create is called only after the attempt is recorded in the object, unless the provider chooses the name",
	"S4":  "Create is called only after the finalizer is stored",
	"S5":  "the finalizer is removed only if the external resource is gone or has to be kept",
	"S6":  "no external resource of another owner is changed or deleted",
	"S7":  "no external resource is changed for an object that is paused, or whose policy forbids it",
	"S8":  "a process with a wrong clock keeps the other safety promises",
	"S9":  "an object inherits nothing from a deleted object that had the same name",
	"S10": "no secret is emitted or stored in the object",
	"S11": "for an object, nothing is read or written in another namespace without a grant",
	"S12": "no Secret of another owner is written",
	"S13": "a process that is no longer the leader begins no call of Create, Update or Delete",
	"S14": "the condition Ready becomes True only for a generation of the object for which Observe was called",
	"S15": "one reconcile makes at most one call of Create, Update or Delete",
	"S16": "the runtime does not revert annotations that users or other controllers have changed",
	"S17": "a process decides nothing by a version of the object that is older than its own last write of the object",
	"S18": "while Observe runs, nothing is changed in the external system, and nothing is written to the API server",
	"S19": "no condition of another controller is lost, and no status is replaced by that of an earlier observation",
	"S20": "of a paused object, only the status and the result of a call that began before the pause are written",
	"S21": "nothing is changed if the connection leads to another external system than that of the resource",
	"S22": "with a deletion guard, the external resource stays if the namespace or the kind of its object is deleted",
	"S23": "after the faults, a run ends in the same state as a run without faults",
	"S24": "objects in the cache are never mutated",
	"S25": "connection details that only Create returns are stored before any other request, or reported as lost",
	"S26": "the finalizer of a former runtime stays until that of this runtime is stored, or the resource is gone",
	"S27": "a creation that a former runtime left without a result is not repeated before a user decides",
	"S28": "a plan of an object changes nothing",
	"S29": "a plan of an object is what a process that begins then does first",
	"L1":  "an object reaches its desired state, and stays in it",
	"L2":  "a deleted object is removed, and its external resource with it",
	"L3":  "every blocked object reports why, and how to unblock it",
	"L4":  "while nothing changes, nothing is written to the API server",
	"L5":  "failures do not lead to a hot loop, in which an object is reconciled or written too often",
	"L6":  "changes of users are reconciled before other work, and no object waits forever",
	"L7":  "while an external system is unavailable, it is called seldom, and no process ends because of that",
	"L8":  "the process keeps nothing in memory about objects that are gone, except the texts of a few hundred failures",
}

// checkBefore checks an operation before it has its effect.
func (w *World) checkBefore(p *process, o Operation) {
	w.checkRequestBefore(p, o)
	if !o.External || !o.Mutates {
		return
	}
	if p.leadership.deposed && !p.leadership.excused {
		w.violate("S13", o.Name+" begun by a process that was replaced")
	}
	if renewed := p.leadership.renewed.Load(); renewed != nil && !p.leadership.excused &&
		w.now().After(renewed.Add(renewDeadline)) {
		w.violate("S13", o.Name+" begun by a process whose lease is over")
	}
	if p.inPass.mutations[keyOf(o.mg)]++; p.inPass.mutations[keyOf(o.mg)] > 1 &&
		!(o.Name == "Delete" && w.lostInSpiteOfFinalizer(o.mg)) {
		w.violate("S15", o.Name+" after another change in the same pass")
	}
	if o.Name == "Create" && !p.leadership.excused {
		w.creates[keyOf(o.mg)]++
	}
	if w.judgedBefore() {
		return
	}
	w.checkPolicyBefore(o)
	switch {
	case p.leadership.excused: // it was under way when the world went on without the process
	case o.Name == "Create":
		w.checkBeforeCreate(p, o)
	default:
		w.checkOwnerBefore(o)
	}
}

func (w *World) checkPolicyBefore(o Operation) {
	base := w.base(o.mg)
	if base == nil {
		return
	}
	if w.astray(base.(resource.Managed)) {
		w.violate("S21", o.Name+" in a system in which the resource is not")
	}
	if since := base.GetDeletionTimestamp(); o.Name == "Delete" && !w.evicted.IsZero() && since != nil &&
		!since.Time.Before(w.evicted.Truncate(time.Second)) {
		w.violate("S22", "Delete of a resource that has to stay when the namespace or the kind is deleted")
	}
	switch {
	case isPaused(base):
		w.violate("S7", o.Name+" for an object that is paused")
	case !allows(base, action(o.Name)):
		w.violate("S7", o.Name+" for an object whose policy forbids it")
	}
}

// base returns the version of the object that a call was given.
func (w *World) base(mg resource.Managed) client.Object {
	changes := w.server.Changes(0)
	for i := len(changes) - 1; i >= 0; i-- {
		if c := changes[i]; c.Object.GetUID() == mg.GetUID() &&
			c.Object.GetResourceVersion() == mg.GetResourceVersion() {
			return c.Object
		}
	}

	return nil
}

func (w *World) checkBeforeCreate(p *process, o Operation) {
	w.callers[o.mg.GetUID()] = p.number
	now := w.outdates(p, o.mg, w.storedFor(p, o.mg))
	if now == nil && w.exempt.raceDeleted[o.mg.GetUID()] {
		return // its finalizer was stored
	}
	if now == nil || !isHeld(now) {
		w.violate("S4", "Create without a finalizer that is stored")

		return
	}
	if w.external.Traits().Named {
		return
	}
	w.checkRepeatBefore(now)
	attempt := recordOf(now)
	if !isPending(now) || attempt != recordOf(o.mg) {
		w.violate("S3", "Create of an attempt that is not the one that is stored")
	}
}

func (w *World) checkOwnerBefore(o Operation) {
	of, exists := w.external.MadeFor(o.mg)
	if !exists || of == o.mg.GetUID() || of != otherOwner && w.users.adopted[o.mg.GetUID()] || of == otherOwner &&
		o.Name == "Delete" && w.exempt.misled.excuses(o.mg.GetUID(), anyExemption) {
		return
	}
	property := "S6"
	if of != "" && of != otherOwner {
		property = "S9"
	}
	w.violate(property, fmt.Sprintf("%s of a resource that was made for %q, by %q", o.Name, of, o.mg.GetUID()))
}

func (w *World) violate(property, text string) {
	if w.guided.joined {
		return // what is judged now means nothing
	}
	for _, v := range w.violation {
		if v.Property == property && v.Text == text {
			return
		}
	}
	w.violation = append(w.violation, Violation{property, text})
	if w.verbose {
		w.sinks.lines = append(w.sinks.lines, fmt.Sprintf("%10s      VIOLATION of %s: %s", w.since(), property, text))
	}
}

// lostNames returns whether lostName is true for any object.
func (w *World) lostNames() bool {
	return len(w.exempt.vacated) > 0 &&
		slices.ContainsFunc(w.objects(), func(mg resource.Managed) bool { return w.lostName(mg.GetUID()) })
}

// lostName returns whether the resource of an object was removed out of band, under its current or an earlier name.
func (w *World) lostName(of types.UID) bool {
	return slices.ContainsFunc(w.server.Changes(0), func(c apiserver.Change) bool {
		return c.Object.GetUID() == of && w.exempt.vacated[externalName(c.Object)]
	})
}

func (w *World) isSecret(text string) bool {
	if len(text) < w.secrets.shortest {
		return false
	}

	return slices.ContainsFunc(w.secrets.forms, func(secret string) bool { return strings.Contains(text, secret) })
}

func (w *World) hide(text string) string {
	for _, secret := range w.secrets.forms {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}

	return text
}

// leaks returns the resources whose objects are gone.
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
