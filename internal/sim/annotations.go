package sim

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// judgeAnnotations checks that a write of the provider did not change annotations of users and of other controllers.
func (w *World) judgeAnnotations(c apiserver.Change) {
	before, now := c.Old.GetAnnotations(), c.Object.GetAnnotations()
	for key := range before {
		_, stays := now[key]
		if bookkeeping[key] || stays && now[key] == before[key] {
			continue
		}
		w.violate("S16", fmt.Sprintf("the annotation %s, which was %q, was made %q", key, before[key], now[key]))
	}
}

// judgeBackOff checks that the queue's back-off requeues a pass that ended with a conflict, because any other requeue
// resets the number of failures. A write that was not stored is retried at intervals of its own, regardless of the
// attempt to undo it.
func (w *World) judgeBackOff(p *process, result reconcile.Result, err error) {
	if err != nil || result.RequeueAfter == 0 || w.judgedBefore() || w.now().Before(w.effects.drops) {
		return
	}
	for i := len(w.trace) - 1; i >= 0; i-- {
		last := w.trace[i]
		if last.Process != p.number || last.Pass != p.making {
			continue // another's
		}
		if last.Op.Mutates && !last.Op.External && kerrors.IsConflict(last.Err) {
			w.violate("L5", "a conflict makes the queue forget how often passes failed")
		}

		return
	}
}

// A knownVersions has what a process knows of objects: the UID that it last read under each name, and the version of
// each object that its own last write made.
type knownVersions struct {
	read  map[types.NamespacedName]types.UID
	wrote map[types.UID]string

	attempts   map[types.UID]string // attempts without a result when the process read them
	unanswered exemptions           // attempts with an unanswered write and without a call of Create since
	unstored   string               // the last key that it got, unless the Secret is known to have it
	done       done
}

// clone returns a copy, without the operations of the current pass. There are none between passes.
func (k knownVersions) clone() knownVersions {
	return knownVersions{
		read: maps.Clone(k.read), wrote: maps.Clone(k.wrote), attempts: maps.Clone(k.attempts),
		unanswered: maps.Clone(k.unanswered), unstored: k.unstored,
	}
}

// A readRecorder is a reader that records which objects a process reads.
type readRecorder struct {
	client.Reader

	process *process
}

// Get reads an object, and records that the process has read it.
func (n readRecorder) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := n.Reader.Get(ctx, key, o, opts...)
	if err == nil && !isBeside(ctx) {
		n.process.recordRead(key, o)
	}

	return err
}

// recordRead records that the process read an object.
func (p *process) recordRead(key types.NamespacedName, o client.Object) {
	if p.known.read == nil {
		p.known.read = map[types.NamespacedName]types.UID{}
	}
	p.known.read[key] = o.GetUID()
	if mg := asManaged(o); mg != nil && attempting(mg) {
		if p.known.attempts == nil {
			p.known.attempts = map[types.UID]string{}
		}
		p.known.attempts[mg.GetUID()] = attemptOf(mg)
	}
}

// recordWrite records the changes that the process knows it made.
func (p *process) recordWrite(changes []apiserver.Change) {
	if p.known.wrote == nil {
		p.known.wrote = map[types.UID]string{}
	}
	for _, c := range changes {
		p.known.wrote[c.Object.GetUID()] = c.Object.GetResourceVersion()
	}
}

// judgeBase checks that a call does not use a version older than the last one that the process itself wrote.
func (w *World) judgeBase(p *process, o Operation) {
	if !o.External || o.mg == nil || w.judgedBefore() {
		return
	}
	last, err := strconv.ParseInt(p.known.wrote[o.mg.GetUID()], 10, 64)
	if err != nil {
		return // it wrote nothing
	}
	if now := w.stored(o.mg); now != nil && p.restored.outdated {
		if stored, err := strconv.ParseInt(now.GetResourceVersion(), 10, 64); err == nil && stored < last {
			return // what it wrote is not stored any more, and it does not know of the restore
		}
	}
	if base, err := strconv.ParseInt(o.mg.GetResourceVersion(), 10, 64); err == nil && base < last {
		w.violate("S17", fmt.Sprintf("%s from version %d, after the process wrote version %d", o.Name, base, last))
	}
}

// judgeTarget checks that a write changed the object that was read, and not another object with its name.
func (w *World) judgeTarget(p *process, c apiserver.Change) {
	if meant, ok := p.known.read[c.Key]; ok && meant != c.Object.GetUID() {
		w.violate("S9", fmt.Sprintf("what was meant for %s was written to %s, which has its name", meant,
			c.Object.GetUID()))
	}
}
