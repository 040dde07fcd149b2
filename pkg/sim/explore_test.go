package sim_test

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/sim"
)

var (
	depth     = flag.Int("depth", 1, "how many faults TestSim combines exhaustively")
	short     = flag.Bool("short-kinds", true, "TestSim leaves out kinds of faults that are rarely different from others")
	all       = flag.Bool("all-kinds", false, "TestSim combines faults of every kind, however many; with -long in every scenario")
	seeds     = flag.Uint64("seeds", 500, "how many random schedules TestSim runs; 0 is none")
	firstSeed = flag.Uint64("first-seed", 1, "the first of them")
	forever   = flag.Bool("forever", false, "TestSim goes on with random schedules until it is stopped or fails")
	first     = flag.Bool("first", false, "TestSim ends with the first scenario in which it finds something")
	long      = flag.Bool("long", false, "TestSim explores scenarios that others do in less time, too, and combines faults in all lives of an object or two")
	whole     = flag.Bool("whole", false, "TestSim runs each schedule from its own beginning to its own end, even where it begins as another, or everything stands as in another that went well")
	unpruned  = flag.Bool("unpruned", false, "TestSim combines faults even where the same is tried elsewhere")
	only      = flag.String("only", "", "a part of the names |scenario/class that TestSim explores")
)

// A book keeps what was found: for each scenario, class and property the shortest
// schedule, and how many there were.
type book struct {
	mu                               sync.Mutex
	found                            map[string]finding
	total                            int
	ran, pruned, blocked, boundaries int
	crossed                          map[string][2]bool
}

type finding struct {
	schedule sim.Schedule
	text     string
	count    int
}

func (b *book) add(r sim.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total++
	for _, v := range r.Violations {
		key := r.Schedule.Scenario + "/" + r.Schedule.Class + " " + v.Property
		f, ok := b.found[key]
		if !ok || len(r.Schedule.Faults) < len(f.schedule.Faults) {
			f.schedule, f.text = r.Schedule, v.Text
		}
		f.count++
		b.found[key] = f
	}
}

// So many findings are told with their stories; the others have a line.
const stories = 3

// Tell prints each finding, shrunk, with the line that replays it.
func (b *book) tell(t *testing.T) {
	t.Helper()
	fmt.Printf("schedules: %d\npruned: %d\nboundaries: %d\nblocked: %d\nviolations: %d\n", b.ran, b.pruned, b.boundaries, b.blocked, b.total)
	told := 0
	for _, key := range slices.Sorted(maps.Keys(b.found)) {
		f := b.found[key]
		_, property, _ := strings.Cut(key, " ")
		least := sim.Shrink(f.schedule, func(s sim.Schedule) bool { return violates(run(t, s, false), property) })
		t.Errorf("%d schedules break %s (%s): %s\n    go test ./pkg/sim -run TestReplay -v -schedule='%s'", f.count, key, sim.Properties[property], f.text, least)
		if told++; told <= stories {
			t.Log(strings.Join(run(t, least, true).Trace, "\n"))
		}
	}
}

func (b *book) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.total > 0
}

func violates(r sim.Result, property string) bool {
	return slices.ContainsFunc(r.Violations, func(v sim.Violation) bool { return v.Property == property })
}

// A job is scenarios that begin alike, over a class.
type job struct {
	scenarios  []string
	class      string
	boundaries int
}

// Jobs returns what there is to explore. What takes longest comes first, so that
// no worker is left alone with it at the end.
func jobs(t *testing.T) chan job {
	t.Helper()
	var all []job
	for _, class := range sim.Classes() {
		alike := map[string]int{}
		for _, scenario := range sim.Scenarios() {
			if sim.Long(scenario) && !*long && *only == "" {
				continue
			}
			if sim.Has(scenario, class) && strings.Contains("|"+scenario+"/"+class, *only) {
				n := run(t, sim.Schedule{Scenario: scenario, Class: class}, false).Boundaries()
				begins := sim.Begins(scenario)
				if i, ok := alike[begins]; ok && begins != "" {
					all[i].scenarios, all[i].boundaries = append(all[i].scenarios, scenario), all[i].boundaries+n

					continue
				}
				alike[begins] = len(all)
				all = append(all, job{[]string{scenario}, class, n})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b job) int { return b.boundaries - a.boundaries })
	queue := make(chan job, len(all))
	for _, j := range all {
		queue <- j
	}
	close(queue)

	return queue
}

func (b *book) explore(t *testing.T, j job) {
	var before *sim.Explorer
	for _, scenario := range j.scenarios {
		e := &sim.Explorer{
			Scenario: scenario, Class: j.class, Depth: *depth, All: *all, Apart: *long, Short: *short, Whole: *whole, Unpruned: *unpruned, After: before, Found: b.add,
			Run: func(s sim.Schedule) sim.Result { return run(t, s, false) },
		}
		b.note(e, e.Explore())
		before = e
	}
}

func (b *book) note(e *sim.Explorer, base sim.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran, b.pruned, b.blocked, b.boundaries = b.ran+e.Ran, b.pruned+e.Pruned, b.blocked+e.Blocked, b.boundaries+base.Boundaries()
	for op, sides := range e.Crossed {
		have := b.crossed[op]
		b.crossed[op] = [2]bool{have[0] || sides[0], have[1] || sides[1]}
	}
	if testing.Verbose() {
		fmt.Printf("%s/%s: %d boundaries, %d schedules, %d pruned, %d violated\n", e.Scenario, e.Class, base.Boundaries(), e.Ran, e.Pruned, e.Violated)
	}
}

func (b *book) random(t *testing.T, seeds chan uint64) {
	for seed := range seeds {
		s := sim.Random(seed, 6)
		if !strings.Contains("|"+s.Scenario+"/"+s.Class, *only) {
			continue
		}
		r := run(t, s, false)
		b.mu.Lock()
		b.ran++
		b.blocked += r.Blocked
		b.mu.Unlock()
		if testing.Verbose() && seed%10000 == 0 {
			fmt.Printf("seed %d\n", seed)
		}
		if len(r.Violations) > 0 {
			t.Logf("seed %d is %s", seed, s)
			b.add(r)
		}
	}
}

// Numbers are the seeds. With -forever they end when something was found.
func (b *book) numbers() chan uint64 {
	out := make(chan uint64)
	go func() {
		defer close(out)
		for seed := *firstSeed; *forever && !b.full() || !*forever && !(*first && b.full()) && seed < *firstSeed+*seeds; seed++ {
			out <- seed
		}
	}()

	return out
}

// TestSim tries every fault at every boundary of every scenario, combinations of
// them, and random ones.
func TestSim(t *testing.T) {
	b := &book{found: map[string]finding{}, crossed: map[string][2]bool{}}
	began, spent := time.Now(), sim.ProcessorTime(t)
	scenarios, seeds := jobs(t), b.numbers()
	t.Run("workers", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for j := range scenarios {
					if !*first || !b.full() {
						b.explore(t, j)
					}
				}
				b.random(t, seeds)
			})
		}
	})
	fmt.Printf("schedules_per_second: %.0f (by the clock, on all cores)\n", float64(b.ran)/time.Since(began).Seconds())
	spent = sim.ProcessorTime(t) - spent
	fmt.Printf("cpu_seconds: %.0f\nschedules_per_cpu_second: %.0f (on one core)\n", spent.Seconds(), float64(b.ran)/spent.Seconds())
	b.tell(t)
	for op, sides := range b.crossed {
		if !sides[0] || !sides[1] {
			t.Errorf("no fault was tried before and after %s: %v", op, sides)
		}
	}
}

//go:embed testdata/corpus.txt
var corpus string

// TestCorpus runs the schedules that once found something, with the usual options and with
// all of them.
func TestCorpus(t *testing.T) {
	lines := bufio.NewScanner(strings.NewReader(corpus))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "//")
		if strings.TrimSpace(line) == "" {
			continue
		}
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, every := range []bool{false, true} {
			for _, v := range runWith(t, s, false, every).Violations {
				t.Errorf("%s, -every-option=%t: %s (%s): %s", s, every, v.Property, sim.Properties[v.Property], v.Text)
			}
		}
	}
}
