package sim

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An operation is something a process asks of the API server or of the external
// system.
type operation struct {
	name     string
	external bool
	mutates  bool
	mg       resource.Managed // what an external call is about

	kind schema.GroupVersionKind // what a request to the API server is about
	key  types.NamespacedName
}

// cached says whether a cache answers, and not the API server.
func (o operation) cached() bool { return o.name == "get" || strings.HasPrefix(o.name, "get:") }

// An entry of the trace is an operation and how it ended.
type entry struct {
	at      time.Duration
	process int
	op      operation
	n       int
	stand   stand // how everything stood, if somebody wants to know
	rest    stand // and everything but the process
	pass    int   // of the process
	fired   int   // faults before it
	faults  []Fault
	err     error
}

// step is the seam through which every operation of every process goes.
func (w *World) step(ctx context.Context, p *process, o operation, apply func(context.Context) error) error {
	if p.dead {
		return context.Canceled // what a crash unwinds has no effect
	}
	w.background()
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.stopping && o.name == "Create" {
		w.violate("S13", "Create begun by a process that is to stop")
	}
	if o.external && o.mutates {
		p.tried[keyOf(o.mg)] = true
	}
	w.counts[o.name]++
	at := boundary{o.name, w.counts[o.name]}
	w.comesTo(p, at)
	w.judgeRequest(o)
	w.judgeKey(p, o)
	faults := w.faults[at]
	w.concludes(p, o)
	w.trace = append(w.trace, entry{at: w.since(), process: p.number, pass: p.making, op: o, n: at.n, stand: w.asksFor(nil), rest: w.asksFor(p), fired: w.fired, faults: faults})
	w.fired += len(faults)
	index := len(w.trace) - 1
	w.forgets(p, faults)
	for _, f := range faults {
		if isAfter(f.Kind) {
			continue
		}
		if answered, err := w.before(ctx, p, o, f); answered {
			p.excused = false // nothing was under way

			return w.note(index, err)
		}
	}
	if takes := w.config.takes; takes > 0 && o.external {
		w.run(w.now().Add(takes)) // others go on meanwhile
		if p.dead {
			return w.note(index, context.Canceled)
		}
	}
	w.judged = len(w.server.Changes(0))
	w.judgeBase(p, o)
	err := w.reach(ctx, p, o, apply)
	w.exempts(p, o)
	_ = w.note(index, err)
	w.judge(p, o)
	for _, f := range faults {
		if isAfter(f.Kind) {
			w.forgets(p, faults)
			err = w.after(ctx, p, o, f, err)
			w.trace[index].err = err
		}
	}
	if err == nil && !o.external && !isBeside(ctx) { // what is told beside a pass decides nothing
		p.wrote(w.server.Changes(w.judged))
	}

	return err
}

// exempts what is beyond anybody's power: a call that is under way when the process is held
// up, and has its effect after the object is gone. That a write was not answered exempts nothing any more
// once Create was called for the attempt.
func (w *World) exempts(p *process, o operation) {
	if o.name == "Create" {
		p.unanswered.forget(o.mg)
		if p.excused && w.stored(o.mg) == nil {
			w.exemptions.add(Usurp, o.mg)
		}
	}
	p.excused = false
}

// reach makes the operation unless the other side is away.
func (w *World) reach(ctx context.Context, p *process, o operation, apply func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case o.external && w.now().Before(w.externalBack):
		w.judgeAway(o)
		if o.name == "Create" && w.mayBlock(ExternalOut) {
			w.lost.add(ExternalOut, o.mg)
		}

		return external.Unavailable(o.failure(p))
	case o.external && o.mutates && w.now().Before(w.refuses):
		return external.NotCreated(o.refusal(p))
	case !o.external && o.mutates && w.now().Before(w.denies):
		return o.denial(w.denial)
	case !o.external && !o.cached() && w.now().Before(w.apiBack):
		w.judgeAPIAway(o.key)

		return o.failure(p)
	}
	w.forejudge(p, o)
	if !o.external && o.mutates && w.now().Before(w.drops) {
		w.server.Ignore(strings.TrimPrefix(string(w.dropped), "dropped-"))
		defer w.server.Ignore("")
	}
	outside := w.outside.Changes()
	err := apply(ctx)
	if o.external && o.mutates && w.outside.Changes() != outside && w.readLate(p, o.mg) {
		w.late += w.outside.Changes() - outside
	}

	return err
}

// note how an operation ended.
func (w *World) note(index int, err error) error {
	e := &w.trace[index]
	e.err = err
	text := "ok"
	if err != nil {
		text = err.Error()
	}
	if w.config.replace != nil {
		w.processes[e.process-1].done.add(e.op.name, text)
	}
	w.tells(w.processes[e.process-1], e.op, text, err == nil)
	if w.verbose {
		w.told.step(e, text)
	}

	return err
}
