package sim

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// checkRequestBefore checks a request to the API server, or a read of the cache, before its answer.
func (w *World) checkRequestBefore(p *process, o Operation) {
	if o.External || o.kind.Empty() {
		return
	}
	if o.Mutates {
		w.work.asked++
		if p.observed.inProgress > 0 {
			w.violate("S18", o.Name+" in the middle of an observation")
		}
	}
	if !w.judgedBefore() && !w.mayAsk(p, o.kind, o.key.Namespace) {
		w.violate("S11", fmt.Sprintf("%s of %s in namespace %q, for an object of another", o.Name, o.kind.Kind,
			o.key.Namespace))
	}
}

// mayAsk returns whether a process may request objects of a kind in a namespace. It may if it reconciles an object in
// that namespace, or an object that refers to one there. It may read Secrets only in the namespace of the object.
func (w *World) mayAsk(p *process, kind schema.GroupVersionKind, namespace string) bool {
	if w.cluster(kind) || p.ending.leaving && kind == w.config.gvk() {
		return true
	}
	for key := range p.queue.working {
		if key.Namespace == namespace {
			return true
		}
	}

	return w.allowed[namespace] && kind != corev1.SchemeGroupVersion.WithKind("Secret")
}

func (w *World) cluster(kind schema.GroupVersionKind) bool {
	return slices.Contains([]string{"Namespace", "CustomResourceDefinition"}, kind.Kind)
}

// judgeStatus checks that a write keeps the conditions of other controllers, and does not replace a later observation.
func (w *World) judgeStatus(p *process, c apiserver.Change) {
	before, after := statusOf(c.Old), statusOf(c.Object)
	for _, was := range before {
		if ourTypes[was.Type] {
			continue
		}
		if !slices.ContainsFunc(after, func(is commonv1.Condition) bool { return unchanged(was, is) }) &&
			!w.noLock(p, asManaged(c.Object)) {
			w.violate("S19", fmt.Sprintf("the condition %s of another controller was lost or changed", was.Type))
		}
	}
	// objects of the kind are managed
	now, old := c.Object.(resource.Managed), c.Old.(resource.Managed)
	is, _ := observedGeneration(now)
	if was, _ := observedGeneration(old); is < was && was <= old.GetGeneration() && !w.noLock(p, now) {
		w.violate("S19", fmt.Sprintf("observed generation %d was replaced by %d", was, is))
	}
	ready, wasReady := conditionOf(now, "Ready"), conditionOf(old, "Ready")
	if ready.Status == wasReady.Status && ready.Reason == wasReady.Reason {
		return
	}
	seen := p.observed.order[now.GetUID()]
	if seen > 0 && seen < w.shown[now.GetUID()] && !w.noLock(p, now) {
		w.violate("S19", fmt.Sprintf("Ready was %s (%s) and became %s (%s), which was observed earlier",
			wasReady.Status,
			wasReady.Reason, ready.Status, ready.Reason))
	}
	w.shown[now.GetUID()] = max(seen, w.shown[now.GetUID()])
}

// judgePause checks that only three parts of a paused object are written: its status, the result of a call that began
// before the pause, and the restored record of a creation. A process restores the record when it ends after a restore
// of the API server, and after a user has replaced the object.
func (w *World) judgePause(p *process, o Operation, c apiserver.Change) {
	old := asManaged(c.Old)
	now := asManaged(c.Object)
	writesBack := p.ending.leaving && (attemptOf(old) != attemptOf(now) || !isHeld(old) && isHeld(now))
	if o.Name == "patch" && isPaused(old) && !p.inPass.attempted[c.Key] && !writesBack && !w.putsBack(old, now) {
		w.violate("S20", "the object was written while it was paused")
	}
}

func asManaged(o any) resource.Managed {
	mg, _ := o.(resource.Managed)

	return mg
}

// putsBack returns whether a write restores annotations of an attempt that a replace has removed.
func (w *World) putsBack(old, now resource.Managed) bool {
	s, stripped := w.undone.strips[now.GetUID()]

	return stripped && !maps.Equal(old.GetAnnotations(), now.GetAnnotations()) &&
		(attemptOf(now) == attemptOf(s.before) || attemptOf(now) == attemptOf(s.last))
}

// judgeAway checks that an unavailable external system is called rarely while its users do nothing.
func (w *World) judgeAway(o Operation) {
	if o.mg == nil || w.users.acted {
		return
	}
	key := keyOf(o.mg)
	w.effects.denied[key]++
	away := w.now().Sub(w.effects.externalGone)
	if most := 8*len(w.processes) + int(2*away.Minutes()); w.effects.denied[key] > most {
		w.violate("L7", fmt.Sprintf("%d calls for %s of a system that is unavailable since %s", w.effects.denied[key],
			key.Name,
			away))
	}
}
