package sim

import (
	"context"
	"fmt"
	"strconv"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// judgeAnnotations judges that a write of the provider's left those annotations alone
// that users, or other controllers, set.
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

// judgeBackOff judges that a pass which ends because the object has changed meanwhile
// comes again by the back-off of the queue: any other time makes the queue forget how
// often passes failed. What was not stored is tried again in steps of its own, whatever befalls the
// attempt to take it back.
func (w *World) judgeBackOff(p *process, result reconcile.Result, err error) {
	if err != nil || result.RequeueAfter == 0 || w.repeats() || w.now().Before(w.drops) {
		return
	}
	for i := len(w.trace) - 1; i >= 0; i-- {
		last := w.trace[i]
		if last.process != p.number || last.pass != p.making {
			continue // another's
		}
		if last.op.mutates && !last.op.external && kerrors.IsConflict(last.err) {
			w.violate("L5", "a conflict makes the queue forget how often passes failed")
		}

		return
	}
}

// What a process was told of objects: which it read last under a name, the version
// that its own last write of one made, and attempts to create.
type acquaintance struct {
	read  map[types.NamespacedName]types.UID
	wrote map[types.UID]string

	attempts map[types.UID]string // whose results were not known when it read of them
}

// Noting is a reader that notes which objects a process reads.
type noting struct {
	client.Reader

	process *process
}

// Get reads an object.
func (n noting) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := n.Reader.Get(ctx, key, o, opts...)
	if err == nil && !isBeside(ctx) {
		n.process.reads(key, o)
	}

	return err
}

func (p *process) reads(key types.NamespacedName, o client.Object) {
	if p.knows.read == nil {
		p.knows.read = map[types.NamespacedName]types.UID{}
	}
	p.knows.read[key] = o.GetUID()
	if mg := asManaged(o); mg != nil && attempting(mg) {
		if p.knows.attempts == nil {
			p.knows.attempts = map[types.UID]string{}
		}
		p.knows.attempts[mg.GetUID()] = attemptOf(mg)
	}
}

// wrote notes the changes that the process was told it made.
func (p *process) wrote(changes []apiserver.Change) {
	if p.knows.wrote == nil {
		p.knows.wrote = map[types.UID]string{}
	}
	for _, c := range changes {
		p.knows.wrote[c.Object.GetUID()] = c.Object.GetResourceVersion()
	}
}

// judgeBase judges that a call is not made from a version that is older than what the
// process itself wrote last: what such a version shows was decided upon before.
func (w *World) judgeBase(p *process, o operation) {
	if !o.external || o.mg == nil || w.repeats() {
		return
	}
	last, err := strconv.ParseInt(p.knows.wrote[o.mg.GetUID()], 10, 64)
	if err != nil {
		return // it wrote nothing
	}
	if now := w.stored(o.mg); now != nil && p.outdated {
		if stored, err := strconv.ParseInt(now.GetResourceVersion(), 10, 64); err == nil && stored < last {
			return // what it wrote is not stored any more, and it does not know of the restore
		}
	}
	if base, err := strconv.ParseInt(o.mg.GetResourceVersion(), 10, 64); err == nil && base < last {
		w.violate("S17", fmt.Sprintf("%s from version %d, after the process wrote version %d", o.name, base, last))
	}
}

// judgeMeant judges that a write had its effect on the object that was read, and not
// on another of its name.
func (w *World) judgeMeant(p *process, c apiserver.Change) {
	if meant, ok := p.knows.read[c.Key]; ok && meant != c.Object.GetUID() {
		w.violate("S9", fmt.Sprintf("what was meant for %s was written to %s, which has its name", meant, c.Object.GetUID()))
	}
}
