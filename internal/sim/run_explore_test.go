package sim_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/sim"
)

var (
	depth = flag.Int("depth", 1, "how many faults TestSim combines exhaustively")
	short = flag.Bool("short-kinds", true,
		"TestSim leaves out kinds of faults that are rarely different from others")
	all = flag.Bool("all-kinds", false,
		"TestSim combines faults of every kind, however many; with -long in every scenario")
	seeds     = flag.Uint64("seeds", 500, "how many random schedules TestSim runs; 0 is none")
	firstSeed = flag.Uint64("first-seed", 1, "the first of them")
	forever   = flag.Bool("forever", false, "TestSim goes on with random schedules until it is stopped or fails")
	first     = flag.Bool("first", false, "TestSim ends with the first scenario in which it finds something")
	long      = flag.Bool("long", false,
		"TestSim explores scenarios that others do in less time, too, and combines faults in all lives of an object or two")
	whole = flag.Bool("whole", false,
		"TestSim runs each schedule from its own beginning to its own end, even where it begins as another, or everything "+
			"stands as in another that went well")
	unpruned = flag.Bool("unpruned", false, "TestSim combines faults even where the same is tried elsewhere")
	doubts   = flag.Bool("doubts", false,
		"TestSim explores, in the place of the other faults, those after which what the platform says or keeps is not what "+
			"is so")
	only = flag.String("only", "", "a part of the names |scenario/class that TestSim explores")
)

// A totals is the result of some schedules: for each scenario, class and property the shortest schedule that breaks it,
// and how many do.
type totals struct {
	Found                                   map[string]finding
	Total, Ran, Pruned, Blocked, Boundaries int
	// schedules with a kind of fault in a class, and those that it excused
	Tried, Excused map[string]int
	// faults of a kind in a class that were not tried, because the runtime does not hold there what it promises
	Restricted map[string]int
	// those that lose an answer of Create behind an error that does not say so where that is a failure, and of them those
	// in which something is left over
	Hidden, Unreported map[string]int
	// those in which a user's word was read late, an answer was lost, or a user ended a deletion
	Late, Lost, Ended map[string]int
	Crossed           map[string][2]bool // the operations with a fault before them, and after
	Lines             []string           // to print
}

type finding struct {
	Schedule sim.Schedule
	Text     string
	Count    int
}

func newAccount() *totals {
	return &totals{
		Found: map[string]finding{}, Tried: map[string]int{}, Excused: map[string]int{},
		Restricted: map[string]int{}, Late: map[string]int{}, Lost: map[string]int{},
		Ended: map[string]int{}, Hidden: map[string]int{}, Unreported: map[string]int{},
		Crossed: map[string][2]bool{},
	}
}

func (a *totals) add(r sim.Result) {
	a.Total++
	for _, v := range r.Violations {
		a.find(r.Schedule.Scenario+"/"+r.Schedule.Class+" "+v.Property, finding{r.Schedule, v.Text, 1})
	}
}

func (a *totals) find(key string, f finding) {
	old, ok := a.Found[key]
	n := old.Count + f.Count
	if ok && len(old.Schedule.Faults) <= len(f.Schedule.Faults) {
		f = old
	}
	f.Count = n
	a.Found[key] = f
}

func (a *totals) cross(op string, sides [2]bool) {
	have := a.Crossed[op]
	a.Crossed[op] = [2]bool{have[0] || sides[0], have[1] || sides[1]}
}

func (a *totals) say(format string, args ...any) {
	a.Lines = append(a.Lines, fmt.Sprintf(format, args...))
}

// count notes which kinds of faults a schedule has, which of them excused something, and which lost an answer.
func (a *totals) count(r sim.Result) {
	in := func(k sim.Kind) string { return string(k) + "/" + r.Schedule.Class }
	for i, f := range r.Schedule.Faults {
		if !slices.ContainsFunc(r.Schedule.Faults[:i], func(other sim.Fault) bool { return other.Kind == f.Kind }) {
			a.Tried[in(f.Kind)]++
		}
	}
	if slices.ContainsFunc(r.Schedule.Faults,
		func(f sim.Fault) bool { return f.Op == "Create" && f.Kind == sim.Lost }) &&
		r.Schedule.Class == "opaque-default" {
		a.Hidden[in(sim.Lost)]++
	}
	if r.Unreported {
		a.Unreported[in(sim.Lost)]++
	}
	for _, kind := range r.Excused {
		a.Excused[in(kind)]++
	}
	for _, kind := range r.Late {
		a.Late[in(kind)]++
	}
	for _, kind := range r.Lost {
		a.Lost[in(kind)]++
	}
	for _, kind := range r.Ended {
		a.Ended[in(kind)]++
	}
}

// A book is the account of all workers.
type book struct {
	mu sync.Mutex
	*totals

	replayed int // schedules of the corpus, before anything else
}

// enter adds what came of a portion.
func (b *book) enter(a *totals) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Total, b.Ran, b.Pruned, b.Blocked, b.Boundaries = b.Total+a.Total, b.Ran+a.Ran, b.Pruned+a.Pruned, b.Blocked+
		a.Blocked, b.Boundaries+a.Boundaries
	for key, f := range a.Found {
		b.find(key, f)
	}
	for op, sides := range a.Crossed {
		b.cross(op, sides)
	}
	for key, n := range a.Tried {
		b.Tried[key] += n
	}
	for key, n := range a.Excused {
		b.Excused[key] += n
	}
	for key, n := range a.Restricted {
		b.Restricted[key] += n
	}
	for key, n := range a.Late {
		b.Late[key] += n
	}
	for key, n := range a.Lost {
		b.Lost[key] += n
	}
	for key, n := range a.Ended {
		b.Ended[key] += n
	}
	for key, n := range a.Hidden {
		b.Hidden[key] += n
	}
	for key, n := range a.Unreported {
		b.Unreported[key] += n
	}
	for _, line := range a.Lines {
		if testing.Verbose() {
			fmt.Println(line)
		}
	}
}

func (b *book) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.Total > 0
}

func violates(r sim.Result, property string) bool {
	return slices.ContainsFunc(r.Violations, func(v sim.Violation) bool { return v.Property == property })
}

// TestSim runs the schedules of the corpus. Then it tries every fault at every boundary of every scenario, combinations
// of them, and random schedules.
func TestSim(t *testing.T) {
	if *portions {
		serve(t)

		return
	}
	b := &book{totals: newAccount(), replayed: corpusHolds(t)}
	began, spent := time.Now(), sim.ProcessorTime(t)
	work, ref := b.work(t), &reference{}
	t.Run("workers", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				b.worker(t, work, ref)
			})
		}
	})
	spent = sim.ProcessorTime(t) - spent
	fmt.Printf("schedules_per_second: %.0f (by the clock, on all cores)\n", float64(b.Ran)/time.Since(began).Seconds())
	fmt.Printf("cpu_seconds: %.0f\nschedules_per_cpu_second: %.0f (on one core)\n", spent.Seconds(),
		float64(b.Ran)/spent.Seconds())
	if *processes {
		fmt.Printf("pieces_of_reference_work: %.0f (in that time of the processor, %d of them measured beside)\n",
			ref.in(spent), ref.pieces)
	}
	b.figures(os.Stdout)
	if b.Total > 0 {
		var said strings.Builder
		b.tell(&said, *everyOption, func(s sim.Schedule, trace bool) sim.Result { return run(t, s, trace) })
		t.Error(said.String())
	}
	b.hold(t)
	if said := b.tooMuch(*doubts && *depth > 1); *only == "" && *depth <= 2 && said != "" {
		t.Error(said)
	}
	for op, sides := range b.Crossed {
		if *doubts && *depth < 2 {
			break // there is none among them that comes after an operation
		}
		if *doubts && strings.HasPrefix(op, "get:") {
			continue // a cache answers, in a scenario whose faults are tried alone
		}
		// Only a restore leads to a list, so that it is met by second faults alone; and what comes after a read is what
		// comes before the next operation.
		after := sides[1] || *doubts && op == "list"
		if !sides[0] || !after {
			t.Errorf("no fault was tried before and after %s: %v", op, sides)
		}
	}
}

// hold fails if make sim has tried less than it is to. How long it may take is held by make proof,
// on a machine that does nothing else.
func (b *book) hold(t *testing.T) {
	t.Helper()
	const least, random = 300_000, 25_000
	if *depth < 2 || *seeds < random || *short || *only != "" || *forever || *whole || *unpruned {
		return // something else was asked for
	}
	if b.Ran < least+random {
		t.Errorf("%d schedules were run, want %d and %d at random at least", b.Ran, least, random)
	}
}
