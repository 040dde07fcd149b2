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

// An Operation is a request of a process to the API server or to the external system.
type Operation struct {
	Name     string
	External bool
	Mutates  bool
	mg       resource.Managed // what an external call is about

	kind schema.GroupVersionKind // what a request to the API server is about
	key  types.NamespacedName
}

// cached returns whether a cache answers the operation instead of the API server.
func (o Operation) cached() bool { return o.Name == "get" || strings.HasPrefix(o.Name, "get:") }

// A Step of the trace is an operation and its result.
type Step struct {
	At       time.Duration
	Process  int
	Op       Operation
	N        int
	Hash     StateHash // of the state before the operation; zero if it was not recorded
	RestHash StateHash // of the state outside the process
	Pass     int       // number of the pass among the passes of its process
	Fired    int       // number of faults that were injected before the operation
	Faults   []Fault
	Err      error
}

// step makes an operation of a process, and injects the faults of the schedule before and after it. Every operation of
// every process goes through it.
func (w *World) step(ctx context.Context, p *process, o Operation, apply func(context.Context) error) error {
	if p.dead {
		return context.Canceled // what a crash unwinds has no effect
	}
	w.background()
	if err := ctx.Err(); err != nil {
		return err
	}
	w.recordStart(p, o)
	at := Boundary{o.Name, w.counts[o.Name]}
	w.reached(p, at)
	w.judgeRequest(o)
	w.judgeKey(p, o)
	faults := w.plan.faults[at]
	w.recordConclusion(p, o)
	w.trace = append(w.trace, Step{At: w.since(), Process: p.number, Pass: p.making, Op: o, N: at.N,
		Hash: w.hashIfNeeded(nil), RestHash: w.hashIfNeeded(p), Fired: w.fired, Faults: faults})
	w.fired += len(faults)
	index := len(w.trace) - 1
	w.exemptDeleteRaces(p, faults)
	for _, f := range faults {
		if IsAfter(f.Kind) {
			continue
		}
		if answered, err := w.before(ctx, p, o, f); answered {
			p.leadership.excused = false // nothing was under way

			return w.note(index, err)
		}
	}
	if takes := w.config.takes; takes > 0 && o.External {
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
		if IsAfter(f.Kind) {
			w.exemptDeleteRaces(p, faults)
			err = w.after(ctx, p, o, f, err)
			w.trace[index].Err = err
		}
	}
	if err == nil && !o.External && !isBeside(ctx) { // answers to other goroutines decide nothing
		p.recordWrite(w.server.Changes(w.judged))
	}

	return err
}

// recordStart records that a process starts an operation.
func (w *World) recordStart(p *process, o Operation) {
	if p.ending.stopping && o.Name == "Create" {
		w.violate("S13", "Create begun by a process that is to stop")
	}
	if o.External && o.Mutates {
		p.inPass.attempted[keyOf(o.mg)] = true
	}
	w.counts[o.Name]++
}

// exempts exempts what cannot be prevented: a call that is in progress while the process is blocked, and has its effect
// after the object is gone. An unanswered write exempts nothing after Create was called for the attempt.
func (w *World) exempts(p *process, o Operation) {
	if o.Name == "Create" {
		p.known.unanswered.forget(o.mg)
		if p.leadership.excused && w.stored(o.mg) == nil {
			w.exempt.surplus.add(LeaseLost, o.mg)
		}
	}
	p.leadership.excused = false
}

// reach makes the operation unless the API server or the external system is unavailable.
func (w *World) reach(ctx context.Context, p *process, o Operation, apply func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case o.External && w.now().Before(w.effects.externalBack):
		w.judgeAway(o)
		if o.Name == "Create" && w.mayBlock(ExternalOut) {
			w.exempt.lost.add(ExternalOut, o.mg)
		}

		return external.Unavailable(o.failure(p))
	case o.External && o.Mutates && w.now().Before(w.effects.refuses):
		return external.NotCreated(o.refusal(p))
	case !o.External && o.Mutates && w.now().Before(w.effects.denies):
		return o.denial(w.effects.denial)
	case !o.External && !o.cached() && w.now().Before(w.effects.apiBack):
		w.judgeAPIAway(o.key)

		return o.failure(p)
	}
	w.checkBefore(p, o)
	if !o.External && o.Mutates && w.now().Before(w.effects.drops) {
		w.server.Ignore(strings.TrimPrefix(string(w.effects.dropped), "dropped-"))
		defer w.server.Ignore("")
	}
	outside := w.external.Changes()
	err := apply(ctx)
	if o.External && o.Mutates && w.external.Changes() != outside && w.readLate(p, o.mg) {
		w.exempt.late += w.external.Changes() - outside
	}

	return err
}

// note records the result of an operation.
func (w *World) note(index int, err error) error {
	e := &w.trace[index]
	e.Err = err
	text := "ok"
	if err != nil {
		text = err.Error()
	}
	if w.config.replace != nil {
		w.processes[e.Process-1].known.done.add(e.Op.Name, text)
	}
	w.recordAnswer(w.processes[e.Process-1], e.Op, text, err == nil)
	if w.verbose {
		w.sinks.recordStep(e, text)
	}

	return err
}
