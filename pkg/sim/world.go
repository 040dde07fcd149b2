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

const (
	pollInterval  = time.Minute
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	tooMany       = 3000 // passes
)

// A Config says what is simulated.
type Config struct {
	// Kind is the managed kind, which Scheme knows.
	Kind   resource.ManagedKind
	Scheme *runtime.Scheme

	// Connecter leads to the external system. All its calls are boundaries at
	// which things go wrong.
	Connecter managed.ExternalConnecter

	// NewConnecter, if it is not nil, makes the connecter of each process, with
	// which dies what it remembers. The default is Connecter for all.
	NewConnecter func() managed.ExternalConnecter

	// Options of the reconciler, after those of the simulation.
	Options []managed.ReconcilerOption

	// Lag of the cache behind the server. The default is none.
	Lag time.Duration

	// Workers is how many objects a process works on at once. The default is
	// one.
	Workers int

	// memory of other servers of the scheme; nil is none
	memory *apiserver.Memory
	// told is whether the harbour tells what changes
	told bool
	// recorded is whether every change is told to a log of changes
	recorded bool
	// limited is whether each process holds its calls to limits of its own
	limited bool

	// foreign is whether there are Options that nobody here knows: they may remember something
	foreign bool
	// alone is whether there is no lease: a process goes on while the API server is
	// away, and nobody takes over from one that is held up
	alone bool

	// Behind, if it is not nil, returns a client of another server, which is empty.
	// It answers in the place of the simulated one, in the run that it is made for;
	// nobody else may write there. See apiserver.Server.Behind.
	Behind func() client.Client

	// takes is how long each external call takes
	takes time.Duration

	// connects with a client for what a connecter reads from the API server
	connects func(client.Reader) managed.ExternalConnecter

	// refers is the kind that objects refer to, if processes watch it beside their own
	refers schema.GroupVersionKind

	// replaces the reconciler of a process, in tests of the judges
	replace func(*process, client.Client) reconcile.Reconciler
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

// A World is an API server, a provider and an external system, and what goes wrong
// between them. It is used by one goroutine, and reads and spends the time it finds
// itself in, which is virtual within a synctest bubble.
type World struct {
	config    Config
	server    *apiserver.Server
	users     *users
	told      *witness
	meters    *meters
	random    *rand.Rand
	source    *rand.PCG // of it
	began     time.Time
	processes []*process
	events    events

	faults   map[boundary][]Fault
	planned  int             // of them
	refusals []time.Duration // by those that refuse for so long
	scenario string
	begins   string // how that begins, if others do so, too
	turned   bool   // that is over
	phase    int    // how far users came
	resting  bool   // nothing is to happen
	course   course

	state
	trace    []entry
	trail    trail
	outside  Outside
	harbour  *harbour                                            // outside, in scenarios about it
	expect   func(resource.Managed) (lacks string, decided bool) // what a scenario expects
	over     bool
	verbose  bool
	secrets  []string
	shortest int                 // length of a secret
	pace     func(time.Duration) // called before time passes
	patient  func() bool         // says whether to wait for more than is usual
	talks    bool                // the external system says more than it should
	restored bool                // the API server may be restored
	deafened bool                // a call may not return
	backward bool                // a clock may be set back
}

// A boundary is the n-th time that an operation is begun.
type boundary struct {
	op string
	n  int
}

// newWorld makes a world in which nothing runs yet.
func newWorld(c Config, faults []Fault) *World {
	source := rand.NewPCG(1, 2)
	w := &World{
		config: c, began: time.Now(), source: source, random: rand.New(source), faults: map[boundary][]Fault{}, planned: len(faults), state: newState(),
		secrets: forms, shortest: shortestForm,
		pace: func(time.Duration) {}, patient: func() bool { return false },
	}
	if c.memory == nil {
		c.memory = apiserver.NewMemory(c.Scheme)
	}
	w.server = c.memory.Server(stepped{})
	if c.Behind != nil {
		w.server.Behind(c.Behind())
	}
	w.users = newUsers(w)
	w.told = &witness{world: w, sinks: map[string]int{}, leftOver: map[string]bool{}, taken: map[types.UID]bool{}}
	w.meters = usedMeters.Get().(*meters) //nolint:forcetypeassert // the pool holds nothing else
	for _, f := range faults {
		at := boundary{f.Op, f.N}
		w.faults[at] = append(w.faults[at], f)
		w.talks = w.talks || f.talks()
		w.restored = w.restored || f.Kind.rewinds()
		w.deafened = w.deafened || f.Kind.deafens()
		w.backward = w.backward || f.Kind == ClockBack
		switch f.Kind { //nolint:exhaustive // after the others nothing is tried again and again
		case Refusing:
			w.refusals = append(w.refusals, f.duration())
		case DroppedAnnotations, DroppedFinalizers: // an attempt is taken back, too
			w.refusals = append(w.refusals, f.duration(), f.duration())
		}
	}

	return w
}

func (w *World) now() time.Time { return time.Now() }

func (w *World) since() time.Duration { return time.Since(w.began) }

// in does something later.
func (w *World) in(d time.Duration, do func()) {
	w.sequence++
	heap.Push(&w.events, occurrence{at: w.now().Add(d), sequence: w.sequence, do: do})
}

// An occurrence is something that happens at a time.
type occurrence struct {
	at       time.Time
	sequence int
	do       func()
}

type events []occurrence

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(occurrence)) } //nolint:forcetypeassert // only occurrences are pushed
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].sequence < e[j].sequence
}

func (e *events) Pop() any {
	last := len(*e) - 1
	o := (*e)[last]
	*e = (*e)[:last]

	return o
}

// background does all that is due now, but for passes of processes that are held.
// It says whether there was any.
func (w *World) background() bool {
	any := false
	for len(w.events) > 0 && !w.events[0].at.After(w.now()) {
		heap.Pop(&w.events).(occurrence).do() //nolint:forcetypeassert // only occurrences are pushed
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

// run lets the world live until a time, or until something is the case.
func (w *World) run(until time.Time, enough ...func() bool) bool {
	if w.passing() { // it is not the story that waits
		return w.lives(until, enough)
	}
	if found, ended := w.leafs(); ended {
		return found
	}
	found := w.lives(until, enough)
	if w.course.joined {
		panic(familiar{})
	}
	w.ends(found)

	return found
}

// passing says whether a pass is under way.
func (w *World) passing() bool {
	return slices.ContainsFunc(w.processes, func(p *process) bool { return p.active > 0 })
}

func (w *World) lives(until time.Time, enough []func() bool) bool {
	for !w.over {
		if w.over = w.passes > tooMany; w.over {
			w.violate("L5", "so many passes that nobody waits for the end")
		}
		w.photographs()
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

func (w *World) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	w.pace(d)
	wait(d)
}

func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // this is how virtual time passes; it takes less than to wait for a channel
}

// next returns when something happens next.
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

// ended is called when a pass is over.
func (w *World) ended(p *process, key types.NamespacedName, result reconcile.Result, err error) {
	p.turns.ends(key, result)
	w.judgeLent(p, key)
	w.judgeBackOff(p, result, err)
	w.told.passEnded(p, key, result, err)
}
