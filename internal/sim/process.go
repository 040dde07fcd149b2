package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A process is one run of a provider: a cache, a queue and a reconciler, which are lost when it ends.
type process struct {
	world     *World
	number    int
	began     time.Time
	ctx       context.Context //nolint:containedctx // the life of the process is what it stands for
	cancel    context.CancelFunc
	clock     stepped
	cache     *cache
	referents *referents // nil: its objects refer to none of another kind
	queue     *queue
	runtime   processRuntime

	known      knownVersions
	turns      turns
	inPass     inPass
	observed   observed
	ending     processEnding
	leadership leadership
	restored   restoreKnowledge
	background background
	dead       bool
	knowledge
}

// A stepped is a clock that is wrong by a constant.
type stepped struct{ by time.Duration }

// A processRuntime is the reconciler of a process, with the objects that the reconciler uses.
type processRuntime struct {
	reconcile reconcile.Reconciler
	states    objectstate.Handle // what the reconciler remembers; empty for a reconciler of a test
	watches   predicate.Predicate
	meters    *meters
}

// An inPass has the state of the passes in progress.
type inPass struct {
	active      int                                // how many
	mutations   map[types.NamespacedName]int       // external changes in them
	raceDeleted map[types.NamespacedName]types.UID // objects that a DeleteRace removed in them
	attempted   map[types.NamespacedName]bool      // objects for which such a change began, even without an effect

	asksSecret bool // this pass has requested the Secret of the last key since the process got that
	details    bool // this pass has observed connection details
}

// An observed has what a process has observed of each object.
type observed struct {
	order      map[types.UID]int   // the number of the last observation
	generation map[types.UID]int64 // the generation that was last observed
	inProgress int                 // observations
}

// A processEnding describes why and how a process ends.
type processEnding struct {
	stopping bool          // was asked to stop
	by       Kind          // by which kind of fault, or graceful
	asked    time.Time     // when it was asked to stop
	restore  *Fault        // the restore that follows its end; nil if none does
	leaving  bool          // it knows of a restore, and does what comes before its end
	left     chan struct{} // is closed when that is over; nil: it has not begun
}

// A leadership records whether a process acts as the leader.
type leadership struct {
	held    bool                      // does nothing at all for a while
	deposed bool                      // another has taken over
	renewed atomic.Pointer[time.Time] // when it last renewed its lease, once it cannot; read by timers
	excused bool                      // for the operation that was in progress then
}

// A restoreKnowledge is what a process knows of restores of the API server.
type restoreKnowledge struct {
	outdated bool                        // there was one, and it may not know yet
	detector *controller.RestoreDetector // nil: none is simulated
}

// A background has what a process does in addition to its passes.
type background struct {
	requests   requestQueue // of its other goroutines
	controller *equipment   // nil: every call returns
	subscribe  func()       // starts notifications of external changes
}

func (c stepped) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c stepped) Now() time.Time { return time.Now().Add(c.by) }

// ask converts a request to an operation and makes it through World.step.
func (p *process) ask(ctx context.Context, r apiserver.Request, do func() error) error {
	o := Operation{Name: r.Verb, Mutates: r.Verb != "get" && r.Verb != "list", kind: r.Kind, key: r.Key}
	if r.Verb == "get" {
		o.Name = "live"
	}
	if r.Subresource != "" {
		o.Name += "/" + r.Subresource
	}
	if r.Kind != p.cache.kind {
		o.Name += ":" + r.Kind.Kind
	}

	if isBeside(ctx) {
		return p.background.requests.ask(ctx, o, do)
	}

	return p.world.step(ctx, p, o, func(context.Context) error { return do() })
}

// deliver adds the objects of due events to the queue.
func (p *process) deliver(now time.Time) {
	if now.Before(p.world.effects.apiBack) || p.restored.outdated {
		return
	}
	p.cache.deliver(now, func(n notice) {
		if p.world.verbose && n.listed {
			p.world.sinks.lines = append(p.world.sinks.lines, fmt.Sprintf("%10s p%d  %s", p.world.since(), p.number, n))
		}
		passes := n.passes(p.runtime.watches)
		if p.world.judgeResync(n, passes); passes {
			priority := n.priority()
			p.turns.comes(n.Change, priority, now, p.leadership.deposed)
			p.queue.add(now, n.Key, 0, priority)
		}
	})
	p.referents.deliver(now)
}

// next returns the time of the next event or pass.
func (p *process) next() (time.Time, bool) {
	at, ok := p.nextEvent()
	ok = ok && !p.restored.outdated
	if ok && at.Before(p.world.effects.apiBack) {
		at = p.world.effects.apiBack
	}
	if !p.idle() {
		return at, ok
	}
	if ready, queued := p.queue.due(); queued && (!ok || ready.Before(at)) {
		return ready, true
	}

	return at, ok
}

// work makes a pass if one is due.
func (p *process) work(now time.Time) bool {
	if !p.idle() {
		return false
	}
	i, ok := p.queue.take(now)
	if !ok {
		return false
	}
	p.world.judgeTurn(p, i)
	p.pass(i)

	return true
}

func (p *process) idle() bool {
	return !p.dead && !p.leadership.held && !p.ending.stopping && p.inPass.active < p.world.config.workers()
}

func (p *process) pass(i *item) {
	p.inPass.active++
	p.world.work.atOnce = max(p.world.work.atOnce, p.inPass.active)
	before, was := p.world.trail.pass, p.knowledge
	p.making, p.shown, p.outer, p.about = p.world.work.passes+1, p.cache.read, before, i.key
	defer func() {
		p.inPass.active--
		p.world.trail.pass, p.making, p.shown, p.outer, p.about = before, was.making, was.shown, was.outer, was.about
		if r := recover(); r != nil {
			if with, ok := r.(clientPanic); ok {
				p.panicked(i, with)
			} else if c, ok := r.(crash); !ok || c.process != p {
				panic(r)
			}
		}
	}()
	delete(p.inPass.mutations, i.key)
	delete(p.inPass.attempted, i.key)
	delete(p.inPass.raceDeleted, i.key)
	p.inPass.details, p.inPass.asksSecret = false, false
	p.world.work.passes++
	p.world.work.overdue += int(bit(p.leadership.deposed))
	p.world.recordPass(p, i.key)
	if before == 0 && p.world.joins() {
		return
	}
	p.world.work.served[i.key]++
	p.world.readsStripped(p, i.key)
	p.world.judgeLoad(i.key, 1, 0)
	planned := p.world.planFirst(p, i.key)
	result, err := p.runtime.reconcile.Reconcile(p.ctx, reconcile.Request{NamespacedName: i.key})
	p.queue.done(p.world.now(), i.key, i.priority, result, err)
	p.world.ended(p, i.key, result, err)
	p.world.judgePlan(p, planned, err)
	p.world.endsStripped(p, err == nil && !result.Requeue) //nolint:staticcheck // reconcilers use it still
	if p.ending.stopping && p.inPass.active == 1 {
		p.end(p.ending.by, time.Second, p.clock, 0)
	}
}

// stop asks the process to stop. It ends when its passes have ended.
func (p *process) stop(by Kind) {
	p.ending.stopping, p.ending.by, p.ending.asked = true, by, p.world.now()
	p.cancel()
	if p.inPass.active == 0 {
		p.end(p.ending.by, time.Second, p.clock, 0)
	}
}

// die ends the process at once.
func (p *process) die(f Fault) {
	clock, overlook := p.clock, 0
	switch f.Kind { //nolint:exhaustive // the others leave the clock and the list alone
	case ClockBack:
		clock.by -= f.duration()
	case ClockAhead:
		clock.by += f.duration()
	case Stale:
		overlook = 3
	}
	restart := lasts[Crash]
	if f.Kind == Crash || f.Kind == CrashAfter || f.Kind == Stale {
		restart = f.duration()
	}
	p.end(f.Kind, restart, clock, overlook)
	panic(crash{p})
}

// end removes the process, and starts the next one unless another already runs.
func (p *process) end(by Kind, restart time.Duration, clock stepped, overlook int) {
	if p.dead {
		return // by a pass of another worker: there is one successor
	}
	p.dead = true
	p.cancel()
	p.background.requests.close()
	w := p.world
	if p.ending.restore != nil {
		w.rewind(*p.ending.restore)
	}
	w.diesRewound(p, by)
	w.losesAtEnd(p, by)
	w.forgetsStripped()
	if !p.leadership.deposed {
		restart = max(restart, w.effects.apiBack.Sub(w.now()))
		w.in(restart, func() { w.start(clock, overlook) })
	}
}

// listPriority is the priority of the first list, as in controller-runtime.
const listPriority = -100

// start starts a process. Its first list lacks the last overlook changes.
func (w *World) start(clock stepped, overlook int) {
	p := &process{
		world: w, began: w.now(), number: len(w.processes) + 1, clock: clock, queue: newQueue(), turns: newTurns(),
		runtime: processRuntime{meters: w.sinks.meters}, known: knownVersions{unanswered: exemptions{}},
		inPass: inPass{
			mutations: map[types.NamespacedName]int{}, attempted: map[types.NamespacedName]bool{},
			raceDeleted: map[types.NamespacedName]types.UID{},
		},
		observed: observed{order: map[types.UID]int{}, generation: map[types.UID]int64{}},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.cache = newCache(w.server, w.config.gvk(), w.config.Lag, overlook)
	if overlook > 0 {
		p.cache.frozen = w.now().Add(3 * time.Second)
	}
	p.equip()
	for _, key := range sortedKeys(p.cache.objects) {
		p.queue.add(w.now(), key, 0, listPriority)
	}
	w.processes = append(w.processes, p)
	w.work.together = max(w.work.together, len(w.alive()))
}

// skew is the time by which the clock of another machine is ahead.
const skew = 700 * time.Millisecond

// graceful stands for a kind of fault if a process is asked to stop during an external call. Nothing is lost then.
const graceful Kind = ""
