package sim

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// A Result is what became of a schedule.
type Result struct {
	Schedule   Schedule
	Violations []Violation
	Blocked    int           // objects that a human had to look after
	Passes     int           // of all processes
	Lived      time.Duration // virtual
	Processes  int           // that there were, one after another or at once
	Together   int           // of them that were alive at once, at most
	AtOnce     int           // passes of one process that were under way at once, at most
	Overdue    int           // passes that a process began when another had taken over
	Clocks     int           // that differed
	Excused    []Kind        // of faults without which something else would be a violation
	Ended      []Kind        // of faults in which a user took the finalizer from what was being deleted
	Late       []Kind        // of faults because of which a pass had not read what users wrote last when it changed something outside
	Lost       []Kind        // of faults that took away what a create answered, so that an object was blocked
	Untold     bool          // an answer of Create was lost behind an error that does not say so, and what was created is left over
	Trace      []string      // if it was asked for

	steps   []entry
	counts  map[string]int // of all operations
	skipped int            // steps before them, which another run has made for this one
	shelf   *shelf         // for what follows
}

// Boundaries returns how many operations the schedule had. Those of an Explorer that is not
// Whole do not go on when it is known what is to come.
func (r Result) Boundaries() int { return r.skipped + len(r.steps) }

// Operations returns the names of the operations there were, in their own order.
func (r Result) Operations() []string { return slices.Sorted(maps.Keys(r.counts)) }

var theScheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{berth.AddToScheme, berth.AddDefinitions, corev1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // kinds of our own cannot fail to register
		}
	}

	return s
})

// TheMemory is that of all servers: schedules are alike for the most part.
var theMemory = sync.OnceValue(func() *apiserver.Memory { return apiserver.NewMemory(theScheme()) })

// Run runs a schedule, with a reconciler that has these options beside those that
// the schedule is about. It is to be called in a bubble of testing/synctest: it
// spends hours.
func Run(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error) {
	return runIn(s, trace, nil, func(*World) {}, o...)
}

// runIn is RunBehind in a world that is changed before anything happens.
func runIn(s Schedule, trace bool, behind func() client.Client, change func(*World), o ...managed.ReconcilerOption) (Result, error) {
	quietly()
	grow()
	w, of, err := prepareBehind(s, behind)
	if err != nil {
		return Result{}, err
	}
	w.config.Options, w.config.foreign = append(w.config.Options, o...), len(o) > 0
	w.verbose = trace
	w.inquires(s.inquiry)
	change(w)
	if w.course.from() == nil { // or else a picture has the processes
		w.start(stepped{}, 0)
	}
	w.liveAndEnd(s, of)
	if c := &w.course; c.inquiry != nil && !c.begun && len(w.violation) == 0 {
		panic(fmt.Sprintf("%s never came to its last fault, which another run came to: two runs of a schedule differ", s))
	}

	return w.result(s), nil
}

// grow makes room for deep calls while there is nothing on the stack yet. To move it later,
// step by step, takes longer.
//
//go:noinline
func grow() {
	var room [24 << 10]byte
	fill(room[:])
}

//go:noinline
func fill(room []byte) { room[0] = 1 }

// liveAndEnd lets the story of a scenario happen, and judges it as a whole.
func (w *World) liveAndEnd(s Schedule, of scenario) {
	w.story(of)
	if !w.course.joined {
		w.busy(w.planned)
		w.judgeEnding(s, of.loose)
	}
	w.learns()
	w.course.joined = false
	w.end()
}

// Familiar is what the story panics with when all that is to come is known.
type familiar struct{}

// story lets the story of a scenario happen, as far as it is not known.
func (w *World) story(of scenario) {
	defer func() {
		if r := recover(); r != nil && r != any(familiar{}) {
			panic(r)
		}
	}()
	of.live(w)
}

func (w *World) end() {
	w.judgeCaches()
	for _, p := range w.alive() {
		p.dead = true
		p.cancel()
		p.beside.close()
	}
	for _, p := range w.processes {
		if p.left != nil {
			<-p.left // it has no effect any more, and tries for a while
		}
	}
	w.judgeMetrics()
	if len(w.violation) == 0 {
		usedMeters.Put(w.meters)
	}
}

func (w *World) result(s Schedule) Result {
	clocks := map[time.Duration]bool{}
	for _, p := range w.processes {
		clocks[p.clock.by] = true
	}

	excused := w.excusedKinds()

	return Result{
		Schedule: s, Violations: w.violation, Blocked: w.blocked, Passes: w.passes, Lived: w.since(),
		Processes: len(w.processes), Together: w.together, AtOnce: w.atOnce, Overdue: w.overdue, Clocks: len(clocks), Excused: excused, Late: w.stale.used(), Lost: w.lost.used(), Ended: w.freed.used(), Untold: w.leftUntold(),
		steps: w.trace, counts: w.counts, skipped: w.course.skipped, Trace: w.told.lines,
	}
}

// prepare makes the world of a schedule.
func prepare(s Schedule) (*World, scenario, error) { return prepareBehind(s, nil) }

func prepareBehind(s Schedule, behind func() client.Client) (*World, scenario, error) {
	of, _ := scenarioOf(s.Scenario)
	c := classes[s.Class]
	if !Has(s.Scenario, s.Class) {
		return nil, scenario{}, errors.Errorf("cannot run %s: there are scenarios %v and classes %v", s, Scenarios(), Classes())
	}
	h := &harbour{class: c, created: map[types.UID]int{}, deleted: map[types.UID]int{}}
	if of.harbor != nil {
		of.harbor(h)
	}
	w := newWorld(Config{
		Kind: berth.Kind, Scheme: theScheme(), memory: theMemory(), Behind: behind, Connecter: h, Lag: of.lag, Options: slices.Clone(c.options),
	}, append(slices.Clone(of.faults), s.Faults...))
	w.scenario, w.begins = of.name, of.begins
	w.outside, w.harbour, h.talks = h, h, w.talks
	w.users.edit = func(mg resource.Managed, n int) { lengthen(int64(n))(mg) }
	w.users.drift = func() {
		for _, p := range h.places {
			if p.deleted.IsZero() && p.For != somebody {
				p.Length += 100
			}
		}
		h.changes++
	}
	if of.config != nil {
		of.config(w)
	}
	if of.expect != nil {
		w.expect = of.expect(w)
	}

	return w, of, nil
}
