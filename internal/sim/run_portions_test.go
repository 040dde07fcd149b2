package sim_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
	"github.com/moorage-dev/moorage/pkg/errors"
)

var (
	processes = flag.Bool("processes", false,
		"TestSim has a process for each processor: goroutines of one would get in each other's way")
	portions = flag.Bool("portions", false, "TestSim is such a process")
)

// A portion is the unit of work of a worker: scenarios that begin alike, in a class, or some seeds.
type portion struct {
	Scenarios []string
	Class     string
	Seeds     []uint64

	boundaries int
}

// work hands out what there is to do, after the corpus. With -first that ends when something was found, with
// -forever not before.
func (b *book) work(t *testing.T) chan portion {
	t.Helper()
	if b.replayed == 0 {
		t.Fatal("what once found something runs first")
	}
	scenarios, out := scenarios(t), make(chan portion)
	go func() {
		defer close(out)
		for _, p := range scenarios {
			out <- p
		}
		for seed, last := *firstSeed, *firstSeed+*seeds; *forever && !b.full() || !*forever && !(*first && b.full()) &&
			seed < last; {
			p := portion{}
			for ; len(p.Seeds) < 100 && (*forever || seed < last); seed++ {
				p.Seeds = append(p.Seeds, seed)
			}
			out <- p
		}
	}()

	return out
}

// scenarios returns those that there are to explore. What takes longest comes first, so
// that no worker is left alone with it at the end.
func scenarios(t *testing.T) []portion {
	t.Helper()
	var all []portion
	for _, class := range sim.Classes() {
		alike := map[string]int{}
		for _, scenario := range sim.Scenarios() {
			if sim.Long(scenario) && !*long && *only == "" || !sim.Has(scenario, class) ||
				!strings.Contains("|"+scenario+"/"+class, *only) {
				continue
			}
			n := run(t, sim.Schedule{Scenario: scenario, Class: class}, false).Boundaries()
			begins := sim.Begins(scenario)
			if i, ok := alike[begins]; ok && begins != "" {
				all[i].Scenarios, all[i].boundaries = append(all[i].Scenarios, scenario), all[i].boundaries+n

				continue
			}
			alike[begins] = len(all)
			all = append(all, portion{Scenarios: []string{scenario}, Class: class, boundaries: n})
		}
	}
	slices.SortStableFunc(all, func(a, b portion) int { return b.boundaries - a.boundaries })

	return all
}

// worker does portions until there is no more, by itself or in a process of its own.
func (b *book) worker(t *testing.T, work chan portion, ref *reference) {
	t.Helper()
	do := func(p portion) (*totals, error) { return try(t, p), nil }
	if *processes {
		c := startChild(t)
		defer func() {
			if err := c.end(); err != nil {
				t.Error(err)
			}
		}()
		do = c.try
	}
	for p := range work {
		if p.Seeds == nil && *first && b.full() {
			continue
		}
		a, err := do(p)
		if err != nil {
			t.Fatal(err)
		}
		b.enter(a)
		if *processes {
			ref.now(t)
		}
	}
}

// try does a portion.
func try(t *testing.T, p portion) *totals {
	t.Helper()
	a := newAccount()
	a.explore(t, p)
	a.random(t, p.Seeds)

	return a
}

func (a *totals) explore(t *testing.T, p portion) {
	t.Helper()
	var before *search.Explorer
	for _, scenario := range p.Scenarios {
		e := &search.Explorer{
			Scenario: scenario, Class: p.Class, Depth: *depth, All: *all, Apart: *long, Short: *short, Whole: *whole,
			Unpruned: *unpruned, Doubts: *doubts, After: before, Found: a.add,
			Run: func(s sim.Schedule) sim.Result {
				r := run(t, s, false)
				a.count(r)

				return r
			},
		}
		n := e.Explore().Boundaries()
		a.Ran, a.Pruned, a.Blocked, a.Boundaries = a.Ran+e.Ran, a.Pruned+e.Pruned, a.Blocked+e.Blocked, a.Boundaries+n
		for op, sides := range e.Crossed {
			a.cross(op, sides)
		}
		for kind, n := range e.Restricted {
			a.Restricted[string(kind)+"/"+p.Class] += n
		}
		a.say("%s/%s: %d boundaries, %d schedules, %d pruned, %d violated", scenario, p.Class, n, e.Ran, e.Pruned,
			e.Violated)
		before = e
	}
}

func (a *totals) random(t *testing.T, seeds []uint64) {
	t.Helper()
	for _, seed := range seeds {
		s := sim.Random(seed, 6)
		if !strings.Contains("|"+s.Scenario+"/"+s.Class, *only) {
			continue
		}
		r := run(t, s, false)
		a.count(r)
		a.Ran++
		a.Blocked += r.Blocked
		if seed%10000 == 0 {
			a.say("seed %d", seed)
		}
		for i, v := range r.Violations {
			r.Violations[i].Text = fmt.Sprintf("%s (seed %d)", v.Text, seed)
		}
		if len(r.Violations) > 0 {
			a.add(r)
		}
	}
}

// A child is this program once more, with a single processor. It takes portions from its
// standard input, and answers with their accounts.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.Reader
	to   *json.Encoder
	from *json.Decoder
}

func startChild(t *testing.T) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run=^TestSim$", "-test.timeout=" + flag.Lookup("test.timeout").Value.String(), "-portions"}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOMAXPROCS=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	return &child{cmd: cmd, in: in, out: out, to: json.NewEncoder(in), from: json.NewDecoder(out)}
}

func (c *child) try(p portion) (*totals, error) {
	a := &totals{}
	if err := c.to.Encode(p); err != nil {
		return nil, errors.Wrapf(err, "cannot hand %v to a process", p)
	}
	if err := c.from.Decode(a); err != nil {
		said, _ := io.ReadAll(io.MultiReader(c.from.Buffered(), c.out))

		return nil, errors.Wrapf(err, "a process did not say what came of %v, but %q", p, said)
	}

	return a, nil
}

// end waits until the child has ended: then its processor time is among that of children.
func (c *child) end() error {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out) // it says that its test has passed

	return c.cmd.Wait()
}

// TestChild checks that another process reports the same about a portion as this process, including findings.
func TestChild(t *testing.T) {
	c := startChild(t)
	seeds := portion{Seeds: []uint64{1, 2, 3}}
	for _, p := range []portion{{Scenarios: []string{"create"}, Class: "opaque"}, seeds, {}} {
		there, err := c.try(p)
		if diff := cmp.Diff(try(t, p), there); diff != "" || err != nil {
			t.Errorf("%v, %v: -here +there:\n%s", p, err, diff)
		}
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	dead := startChild(t)
	_ = dead.cmd.Process.Kill()
	if _, err := dead.try(seeds); err == nil {
		t.Error("a process that has died has done something")
	}
	if err := dead.end(); err == nil {
		t.Error("its end is not reported")
	}
	reported, noticed := newAccount(), &totals{}
	reported.add(sim.Result{Violations: []sim.Violation{{Property: "S1", Text: "two"}}, Schedule: sim.Schedule{
		Scenario: "create", Class: "named", Faults: []sim.Fault{{Op: "Create", N: 2, Kind: sim.Outage,
			For: time.Second}},
	}})
	line, err := json.Marshal(reported)
	if err == nil {
		err = json.Unmarshal(line, noticed)
	}
	if diff := cmp.Diff(reported, noticed); diff != "" || err != nil {
		t.Errorf("-sent +received, %v:\n%s", err, diff)
	}
}

// serve does portions for the parent process.
func serve(t *testing.T) {
	t.Helper()
	debug.SetGCPercent(1000) // a process of one goroutine collects on the time of its schedules
	runtime.MemProfileRate = 0
	from, to := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var p portion
		if err := from.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if err := to.Encode(try(t, p)); err != nil {
			t.Fatal(err)
		}
	}
}
