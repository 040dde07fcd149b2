package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// skew is how far the clock of another machine is ahead.
const skew = 700 * time.Millisecond

// listPriority is the priority of the first list, as in controller-runtime.
const listPriority = -100

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
	reconcile reconcile.Reconciler
	states    objectstate.Handle // what the reconciler remembers; empty for a reconciler of a test
	watches   predicate.Predicate

	known        knownVersions
	turns        turns
	mutations    map[types.NamespacedName]int       // external changes in passes in progress
	raceDeleted  map[types.NamespacedName]types.UID // objects that a DeleteRace removed in passes in progress
	attempted    map[types.NamespacedName]bool      // objects for which such a change began, even without an effect
	observations map[types.UID]int                  // the number of the last observation
	observing    int                                // observations in progress
	active       int                                // passes in progress
	held         bool                               // does nothing at all for a while
	stopping     bool                               // was asked to stop
	by           Kind                               // by which kind of fault, or graceful
	asked        time.Time                          // when it was asked to stop
	unanswered   exemptions                         // attempts with an unanswered write and without a call of Create since
	deposed      bool                               // another has taken over
	renewed      atomic.Pointer[time.Time]          // when it last renewed its lease, once it cannot; read by timers
	excused      bool                               // for the operation that was in progress then
	dead         bool

	observed   map[types.UID]int64         // the generation that was last observed
	unstored   string                      // the last key that it got, unless the Secret is known to have it
	asksSecret bool                        // it has requested that Secret since then, in this pass
	details    bool                        // this pass has observed connection details
	ends       *Fault                      // the restore that follows its end; nil if none does
	outdated   bool                        // the API server was restored, and it may not know yet
	leaving    bool                        // it knows, and does what comes before its end
	left       chan struct{}               // is closed when that is over; nil: it has not begun
	restores   *controller.RestoreDetector // nil: no restore is simulated
	beside     requestQueue                // requests of its other goroutines
	equipment  *equipment                  // its controller; nil: every call returns
	subscribe  func()                      // starts notifications of external changes
	meters     *meters
	done       done
	knowledge
}

// A stepped clock is wrong by a constant.
type stepped struct{ by time.Duration }

func (c stepped) Now() time.Time                  { return time.Now().Add(c.by) }
func (c stepped) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// start starts a process. Its first list lacks the last changes, as many as it is to overlook.
func (w *World) start(clock stepped, overlook int) {
	p := &process{
		world: w, meters: w.meters, began: w.now(), number: len(w.processes) + 1, clock: clock, queue: newQueue(),
		turns:    newTurns(),
		observed: map[types.UID]int64{}, unanswered: exemptions{}, raceDeleted: map[types.NamespacedName]types.UID{},
		mutations: map[types.NamespacedName]int{}, attempted: map[types.NamespacedName]bool{},
		observations: map[types.UID]int{},
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
	w.together = max(w.together, len(w.alive()))
}

// A split is a cluster whose uncached reader is the server.
type split struct {
	*fake.Manager

	live    client.Reader
	process *process
}

func (s split) GetAPIReader() client.Reader { return live{s.live, s.GetScheme(), s.process} }

// A live reader reads from the server. It also supports reading only the metadata of objects.
type live struct {
	client.Reader

	scheme  *runtime.Scheme
	process *process
}

func (l live) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return l.Reader.Get(ctx, key, o, opts...)
	}
	whole, err := l.scheme.New(m.GroupVersionKind())
	if _, stored := whole.(*bucket.Definition); !stored && m.GroupVersionKind() == bucket.DefinitionKind {
		return l.definition(ctx, key, m)
	}
	if err != nil {
		return err
	}
	typed, ok := whole.(client.Object)
	if !ok {
		return errors.Errorf("%s has no metadata", m.Kind)
	}
	if err := l.Reader.Get(ctx, key, typed, opts...); err != nil {
		return err
	}
	m.SetName(typed.GetName())
	m.SetUID(typed.GetUID())
	m.SetDeletionTimestamp(typed.GetDeletionTimestamp())

	return nil
}

// definition reads the CustomResourceDefinition of a kind where none is stored: objects of the kind are served, so that
// it exists and is not being deleted.
func (l live) definition(ctx context.Context, key client.ObjectKey, m *metav1.PartialObjectMetadata) error {
	return l.process.ask(ctx, apiserver.Request{Verb: "get", Kind: bucket.DefinitionKind, Key: key}, func() error {
		m.SetName(key.Name)

		return nil
	})
}

// A cached client reads objects of the kind from the cache.
type cached struct {
	*apiserver.Client

	process *process
}

// RESTMapper knows the kind.
func (c *cached) RESTMapper() meta.RESTMapper {
	kind := c.process.cache.kind
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
	m.Add(kind, meta.RESTScopeNamespace)

	return m
}

// Get reads an object of the kind from the cache.
func (c *cached) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	p := c.process
	gvk, err := c.GroupVersionKindFor(o)
	kept := p.cacheOf(gvk)
	if err != nil || kept == nil {
		return c.Client.Get(ctx, key, o, opts...)
	}

	of := Operation{Name: "get", kind: gvk, key: key}
	if kept != p.cache {
		of.Name += ":" + gvk.Kind
	}
	if isBeside(ctx) {
		return p.beside.ask(ctx, of, func() error { return kept.get(key, o, opts) })
	}
	err = p.world.step(ctx, p, of, func(context.Context) error { return kept.get(key, o, opts) })
	if err == nil && kept == p.cache {
		p.recordRead(key, o)
	}

	return err
}

// ask turns a request into an operation, and makes it through the seam.
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
		return p.beside.ask(ctx, o, do)
	}

	return p.world.step(ctx, p, o, func(context.Context) error { return do() })
}

// deliver adds the objects of events that are due to the queue.
func (p *process) deliver(now time.Time) {
	if now.Before(p.world.apiBack) || p.outdated {
		return
	}
	p.cache.deliver(now, func(n notice) {
		if p.world.verbose && n.listed {
			p.world.sinks.lines = append(p.world.sinks.lines, fmt.Sprintf("%10s p%d  %s", p.world.since(), p.number, n))
		}
		passes := n.passes(p.watches)
		if p.world.judgeResync(n, passes); passes {
			p.turns.comes(n.Change, now, p.deposed)
			p.queue.add(now, n.Key, 0, n.priority())
		}
	})
	p.referents.deliver(now)
}

// next returns the time of the next event or pass.
func (p *process) next() (time.Time, bool) {
	at, ok := p.nextEvent()
	ok = ok && !p.outdated
	if ok && at.Before(p.world.apiBack) {
		at = p.world.apiBack
	}
	if !p.idle() {
		return at, ok
	}
	if ready, queued := p.queue.due(); queued && (!ok || ready.Before(at)) {
		return ready, true
	}

	return at, ok
}

func (p *process) idle() bool {
	return !p.dead && !p.held && !p.stopping && p.active < p.world.config.workers()
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

func (p *process) pass(i *item) {
	p.active++
	p.world.atOnce = max(p.world.atOnce, p.active)
	before, was := p.world.trail.pass, p.knowledge
	p.making, p.shown, p.outer, p.about = p.world.passes+1, p.cache.read, before, i.key
	defer func() {
		p.active--
		p.world.trail.pass, p.making, p.shown, p.outer, p.about = before, was.making, was.shown, was.outer, was.about
		if r := recover(); r != nil {
			if with, ok := r.(clientPanic); ok {
				p.panicked(i, with)
			} else if c, ok := r.(crash); !ok || c.process != p {
				panic(r)
			}
		}
	}()
	delete(p.mutations, i.key)
	delete(p.attempted, i.key)
	delete(p.raceDeleted, i.key)
	p.details, p.asksSecret = false, false
	p.world.passes++
	p.world.overdue += int(bit(p.deposed))
	p.world.recordPass(p, i.key)
	if before == 0 && p.world.joins() {
		return
	}
	p.world.served[i.key]++
	p.world.readsStripped(p, i.key)
	p.world.judgeLoad(i.key, 1, 0)
	result, err := p.reconcile.Reconcile(p.ctx, reconcile.Request{NamespacedName: i.key})
	p.queue.done(p.world.now(), i.key, i.priority, result, err)
	p.world.ended(p, i.key, result, err)
	p.world.endsStripped(p, err == nil && !result.Requeue) //nolint:staticcheck // reconcilers use it still
	if p.stopping && p.active == 1 {
		p.end(p.by, time.Second, p.clock, 0)
	}
}

// graceful is used instead of a kind of fault if a process is asked to stop during an external call, which loses
// nothing.
const graceful Kind = ""

// stop asks the process to stop. It ends when its passes have ended.
func (p *process) stop(by Kind) {
	p.stopping, p.by, p.asked = true, by, p.world.now()
	p.cancel()
	if p.active == 0 {
		p.end(p.by, time.Second, p.clock, 0)
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
	p.beside.close()
	w := p.world
	if p.ends != nil {
		w.rewind(*p.ends)
	}
	w.diesRewound(p, by)
	w.losesAtEnd(p, by)
	w.forgetsStripped()
	if !p.deposed {
		restart = max(restart, w.apiBack.Sub(w.now()))
		w.in(restart, func() { w.start(clock, overlook) })
	}
}
