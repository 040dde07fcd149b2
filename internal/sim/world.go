package sim

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A World has an API server, processes of a provider, an external system and faults. One goroutine uses it. It uses the
// current time, which is virtual in a bubble of testing/synctest.
type World struct {
	config    Config
	server    *apiserver.Server
	users     *users
	sinks     *sinks
	random    randomness
	began     time.Time
	processes []*process
	events    events
	plan      plan
	script    script
	guided    guided

	state
	trace    []Step
	trail    trail
	external ExternalSystem
	system   *extSystem // external, in scenarios of this package; else nil
	over     bool
	verbose  bool
	secrets  secretTexts
	hooks    hooks
}

// A Config configures a simulation.
type Config struct {
	// Kind is the managed kind. Scheme must have it.
	Kind   resource.ManagedKind
	Scheme *runtime.Scheme

	// Connecter connects to the external system. All its calls are boundaries at which faults are injected.
	Connecter managed.ExternalConnecter

	// NewConnecter, if it is not nil, makes a connecter for each process, so that the state of a connecter ends with its
	// process. By default all processes use Connecter.
	NewConnecter func() managed.ExternalConnecter

	// Options are options of the reconciler. They follow those of the simulation.
	Options []managed.ReconcilerOption

	// Lag is the lag of the cache behind the server. The default is 0.
	Lag time.Duration

	// Workers is the number of objects that a process reconciles concurrently. The default is 1.
	Workers int

	Dependents

	// simulator is what runs the simulation
	simulator *Simulator
	// memory of other servers of the scheme; nil is none
	memory *apiserver.Memory
	// notifies is whether the external system notifies of changes
	notifies bool
	// logsChanges is whether every change is recorded in a change log
	logsChanges bool
	// limited is whether each process holds its calls to limits of its own
	limited bool

	// foreign is whether there are Options of the caller: they may remember something
	foreign bool
	// alone is true if there is no lease: a process continues while the API server is unavailable, and no other process
	// replaces a blocked one
	alone bool

	// Behind, if it is not nil, returns a client of another, empty server. That server answers the requests of one run
	// instead of the simulated server. Nothing else may write to it. See apiserver.Server.Behind.
	Behind func() client.Client

	// takes is how long each external call takes
	takes time.Duration

	// connects returns a connecter that reads from the API server with a client
	connects func(client.Reader) managed.ExternalConnecter

	// refers is the kind that objects refer to, if it is another kind that processes also watch
	refers schema.GroupVersionKind

	// replace returns another reconciler for a process, in tests of the judges
	replace func(*process, client.Client) reconcile.Reconciler
}

// Dependents says what happens to the dependents of objects, such as connection Secrets. The scenarios of this package
// use the zero value.
type Dependents struct {
	// CollectsGarbage is the time after which the garbage collector deletes the dependents of a deleted object. The
	// default is that there is no garbage collector.
	CollectsGarbage time.Duration

	// Publishes says that objects have connection Secrets. Then each process may write each Secret once after its start.
	// The default is false.
	Publishes bool
}

// A randomness is a source of random numbers, which a snapshot contains.
type randomness struct {
	*rand.Rand

	source *rand.PCG
}

type events []occurrence

// An occurrence is something that happens at a time.
type occurrence struct {
	at       time.Time
	sequence int
	do       func()
}

// A plan has the faults of a schedule, and which kinds of events they make possible.
type plan struct {
	faults   map[Boundary][]Fault
	count    int             // of faults
	refusals []time.Duration // durations of the faults that refuse writes

	leaksSecrets  bool // errors of the external system contain secrets
	restores      bool // the API server may be restored
	blocksCalls   bool // a call may not return
	setsClockBack bool // a clock may be set back
}

// A Boundary is the n-th start of an operation.
type Boundary struct {
	Op string
	N  int
}

// A script records how far a scenario has come, and what it expects.
type script struct {
	scenario string
	begins   string // the scenario that this one begins like; empty if none
	diverged bool   // the part that it begins like is over
	phase    int
	resting  bool                                                // nothing may change now
	expect   func(resource.Managed) (lacks string, decided bool) // of an object
}

// A secretTexts has the texts that must not be emitted.
type secretTexts struct {
	forms    []string
	shortest int // length of the shortest form
}

// A hooks has functions of a Trial that are called when time passes, and what a test compares.
type hooks struct {
	pace     func(time.Duration) // called before time passes
	patient  func() bool         // says whether to wait longer than usual
	planning *planning           // nil: nothing is planned
}

func (c Config) gvk() schema.GroupVersionKind { return schema.GroupVersionKind(c.Kind) }
func (c Config) workers() int                 { return max(c.Workers, 1) }

func (c Config) connecter(r client.Reader) managed.ExternalConnecter {
	switch {
	case c.connects != nil:
		return c.connects(r)
	case c.NewConnecter != nil:
		return c.NewConnecter()
	}

	return c.Connecter
}

// newWorld returns a world without a process.
func (m *Simulator) newWorld(c Config, faults []Fault) *World {
	c.simulator = m
	source := rand.NewPCG(1, 2)
	w := &World{
		config: c, began: time.Now(), random: randomness{rand.New(source), source},
		plan: plan{faults: map[Boundary][]Fault{}, count: len(faults)}, state: newState(),
		secrets: secretTexts{forms, shortestForm},
		hooks:   hooks{func(time.Duration) {}, func() bool { return false }, nil},
	}
	if c.memory == nil {
		c.memory = apiserver.NewMemory(c.Scheme)
	}
	w.server = c.memory.Server(stepped{})
	if c.Behind != nil {
		w.server.Behind(c.Behind())
	}
	w.users = newUsers(w)
	w.sinks = &sinks{world: w, checked: map[string]int{}, leftOver: map[string]bool{}, taken: map[types.UID]bool{}}
	w.sinks.meters = m.meters.Get().(*meters)
	for _, f := range faults {
		at := Boundary{f.Op, f.N}
		w.plan.faults[at] = append(w.plan.faults[at], f)
		w.plan.leaksSecrets = w.plan.leaksSecrets || f.LeaksSecrets()
		w.plan.restores = w.plan.restores || f.Kind.rewinds()
		w.plan.blocksCalls = w.plan.blocksCalls || f.Kind.BlocksCall()
		w.plan.setsClockBack = w.plan.setsClockBack || f.Kind == ClockBack
		switch f.Kind { //nolint:exhaustive // after the others nothing is tried again and again
		case Refusing:
			w.plan.refusals = append(w.plan.refusals, f.duration())
		case DroppedAnnotations, DroppedFinalizers: // an attempt is taken back, too
			w.plan.refusals = append(w.plan.refusals, f.duration(), f.duration())
		}
	}

	return w
}

func (w *World) since() time.Duration { return time.Since(w.began) }

// in schedules a function.
func (w *World) in(d time.Duration, do func()) {
	w.sequence++
	heap.Push(&w.events, occurrence{at: w.now().Add(d), sequence: w.sequence, do: do})
}

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(occurrence)) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].sequence < e[j].sequence
}

func (e *events) Pop() any {
	last := len(*e) - 1
	o := (*e)[last]
	*e = (*e)[:last]

	return o
}

// run lets time pass until a time, or until a condition is true.
func (w *World) run(until time.Time, enough ...func() bool) bool {
	if w.passInProgress() { // a fault waits, not the scenario
		return w.advance(until, enough)
	}
	if found, ended := w.resume(); ended {
		return found
	}
	found := w.advance(until, enough)
	if w.guided.joined {
		panic(knownSequel{})
	}
	w.endWait(found)

	return found
}

// passInProgress returns whether a pass is in progress.
func (w *World) passInProgress() bool {
	return slices.ContainsFunc(w.processes, func(p *process) bool { return p.inPass.active > 0 })
}

const (
	pollInterval  = time.Minute
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	tooMany       = 3000 // passes
)

func (w *World) advance(until time.Time, enough []func() bool) bool {
	for !w.over {
		if w.over = w.work.passes > tooMany; w.over {
			w.violate("L5", "more passes than a run may have")
		}
		w.beforePass()
		for _, is := range enough {
			if is() {
				return true
			}
		}
		if w.background() {
			continue
		}
		next, ok := w.next()
		if !ok || next.After(until) {
			w.wait(until.Sub(w.now()))

			return false
		}
		w.wait(next.Sub(w.now()))
	}

	return false
}

// background does everything that is due now, except passes of blocked processes. It returns whether anything was due.
func (w *World) background() bool {
	any := false
	w.scheduleGarbageCollection()
	for len(w.events) > 0 && !w.events[0].at.After(w.now()) {
		heap.Pop(&w.events).(occurrence).do()
		w.hooks.planning.occurs()
		any = true
	}
	for _, p := range w.processes {
		if !p.dead {
			p.deliver(w.now())
		}
	}
	for _, p := range w.processes {
		if p.toLeave() {
			p.leave()

			return true
		}
		if p.work(w.now()) {
			return true
		}
	}

	return any
}

// next returns the time of the next event.
func (w *World) next() (time.Time, bool) {
	var next time.Time
	found := false
	if len(w.events) > 0 {
		next, found = w.events[0].at, true
	}
	for _, p := range w.processes {
		if p.dead {
			continue
		}
		if at, ok := p.next(); ok && (!found || at.Before(next)) {
			next, found = at, true
		}
	}

	return next, found
}

func (w *World) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	w.hooks.pace(d)
	wait(d)
}

func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // this is how virtual time passes; it takes less than to wait for a channel
}

func (w *World) now() time.Time { return time.Now() }

// alive returns the processes that are not dead.
func (w *World) alive() []*process {
	var out []*process
	for _, p := range w.processes {
		if !p.dead {
			out = append(out, p)
		}
	}

	return out
}

// ended is called at the end of a pass.
func (w *World) ended(p *process, key types.NamespacedName, result reconcile.Result, err error) {
	p.turns.ends(key, result)
	w.judgeAliases(p, key)
	w.judgeBackOff(p, result, err)
	w.sinks.passEnded(p, key, result, err)
}
