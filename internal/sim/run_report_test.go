package sim_test

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

//go:embed testdata/corpus.txt
var corpus string

// corpusHolds runs the schedules of the corpus, with the usual options and with every option, and returns their number.
func corpusHolds(t *testing.T) int {
	t.Helper()
	n := 0
	t.Run("corpus", func(t *testing.T) {
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
				explain(t, runWith(t, s, false, every), every)
			}
			n++
		}
	})

	return n
}

// command returns the command that replays a schedule.
func command(s sim.Schedule, every bool) string {
	option := ""
	if every {
		option = "-every-option "
	}

	return fmt.Sprintf("go test ./internal/sim -run TestReplay -v %s-schedule='%s'", option, s)
}

// explain fails if a run has a violation, with the command that replays it and a trace.
func explain(t *testing.T, r sim.Result, every bool) {
	t.Helper()
	if len(r.Violations) == 0 {
		return
	}
	for _, v := range r.Violations {
		t.Errorf("%s breaks %s (%s): %s\n    %s", r.Schedule, v.Property, sim.Properties[v.Property], v.Text,
			command(r.Schedule, every))
	}
	t.Log(strings.Join(runWith(t, r.Schedule, true, every).Trace, "\n"))
}

// stories is how many findings are printed with their traces; the others have one line.
const stories = 3

// figures are printed whatever the results of the schedules are.
func (b *book) figures(out io.Writer) {
	kinds := map[string]bool{}
	for key := range b.Tried {
		kind, _, _ := strings.Cut(key, "/")
		kinds[kind] = true
	}
	fmt.Fprintf(out, "kinds: %d\ncorpus: %d\nschedules: %d\npruned: %d\nboundaries: %d\nblocked: %d\nviolations: %d\n",
		len(kinds), b.replayed, b.Ran, b.Pruned, b.Boundaries, b.Blocked, b.Total)
	for _, key := range slices.Sorted(maps.Keys(b.Excused)) {
		fmt.Fprintf(out, "excused_by_%s: %d (of %d schedules)\n", key, b.Excused[key], b.Tried[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.Unreported)) {
		fmt.Fprintf(out, "left_over_by_%s: %d (of %d schedules in which an error hides the answer of Create)\n", key,
			b.Unreported[key], b.Hidden[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.Restricted)) {
		fmt.Fprintf(out, "restricted_%s: %d (not tried: see restricted.go)\n", key, b.Restricted[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.Late)) {
		fmt.Fprintf(out, "read_late_by_%s: %d\n", key, b.Late[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.Lost)) {
		fmt.Fprintf(out, "blocked_by_%s: %d\n", key, b.Lost[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.Ended)) {
		fmt.Fprintf(out, "ended_by_a_user_with_%s: %d\n", key, b.Ended[key])
	}
}

// TestRestricted checks that faults that an Explorer leaves out because a promise does not hold after them are counted
// and printed.
func TestRestricted(t *testing.T) {
	tried := map[sim.Kind]int{}
	e := search.Explorer{
		Scenario: "guard", Class: "named", Depth: 1, Doubts: true, Found: func(sim.Result) {},
		Run: func(s sim.Schedule) sim.Result {
			for _, f := range s.Faults {
				tried[f.Kind]++

				return sim.Result{Schedule: s}
			}

			return run(t, s, false)
		},
	}
	e.Explore()
	for _, kind := range []sim.Kind{sim.Refused, sim.RefusedSize, sim.RefusedAccess} { // of three lengths, the longest
		if n := e.Restricted[kind]; n == 0 || tried[kind] != 2*n {
			t.Errorf("%s: %d left out and %d tried, want one of three lengths left out", kind, n, tried[kind])
		}
	}
	if n := e.Restricted[sim.Strip]; n > 0 || tried[sim.Strip] == 0 {
		t.Errorf("%s: %d left out and %d tried, want none left out", sim.Strip, n, tried[sim.Strip])
	}
	b, out := &book{totals: newAccount()}, strings.Builder{}
	b.enter(&totals{Restricted: map[string]int{"strip/named": 3}})
	b.enter(&totals{Restricted: map[string]int{"strip/named": 4}})
	if b.figures(&out); !strings.Contains(out.String(), "\nrestricted_strip/named: 7 ") {
		t.Errorf("the figures do not tell what was left out:\n%s", out.String())
	}
}

// mostExcused returns how many percent of its schedules in a class a kind of fault may excuse. Pairs of doubts may
// excuse more in the class Opaque, where a replace together with the end of the process removes everything that was
// known; and a replace that removes only the finalizer together with a deletion before the next pass, which cannot be
// prevented in any class.
func mostExcused(kindAndClass string, pairs bool) int {
	kind, class, _ := strings.Cut(kindAndClass, "/")
	switch {
	case pairs && strings.HasPrefix(class, "opaque"):
		return 4
	case pairs && kind == string(sim.StripFinalizers):
		return 3
	default:
		return 2
	}
}

// tooMuch returns which kinds of faults excuse more than they may, or nothing. A blocked object whose answer was lost
// is no excuse, but promised in its class. Lost answers of Create behind an error that does not say so mostly leave a
// resource over, where such an error is a failure: that is what the default means, and no percentage bounds it. They
// are counted separately, and none may be left over without such an answer.
func (b *book) tooMuch(pairs bool) string {
	var said strings.Builder
	for _, key := range slices.Sorted(maps.Keys(b.Unreported)) {
		if n, of := b.Unreported[key], b.Hidden[key]; n > of {
			fmt.Fprintf(&said, "%s leaves something over in %d schedules, and hides the answer of Create in %d\n",
				key, n, of)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Excused)) {
		if n, of, most := b.Excused[key], b.Tried[key], mostExcused(key, pairs); 100*n > most*of {
			fmt.Fprintf(&said, "%s excuses %d of %d schedules, and may excuse %d %%: look for an excuse that is too broad\n",
				key, n, of, most)
		}
	}

	return said.String()
}

// TestBoundsOfExemptions checks that a kind of fault that excuses more than 2 % of its schedules in one class fails the
// run, whatever it excuses in others.
func TestBoundsOfExemptions(t *testing.T) {
	b := &book{totals: newAccount()}
	b.Tried["strip/named"], b.Excused["strip/named"] = 100, 2
	b.Tried["strip/opaque"], b.Lost["strip/opaque"] = 100, 50
	if said := b.tooMuch(false); said != "" {
		t.Errorf("within the bound, it says %q", said)
	}
	b.Tried["strip/token"], b.Excused["strip/token"] = 100, 3
	if said := b.tooMuch(false); !strings.HasPrefix(said, "strip/token excuses 3 of 100 schedules") ||
		strings.Count(said, "\n") != 1 {
		t.Errorf("it says %q", said)
	}
	for key, most := range map[string]int{"strip/findable": 2, "strip/opaque": 4, "rewound-down/opaque-default": 4,
		"strip-finalizers/named": 3} {
		if got := mostExcused(key, true); got != most {
			t.Errorf("pairs may excuse %d %% of %s, want %d", got, key, most)
		}
		if got := mostExcused(key, false); got != 2 {
			t.Errorf("single faults may excuse %d %% of %s, want 2", got, key)
		}
	}
	b = &book{totals: newAccount()}
	b.Hidden["lost/opaque-default"], b.Unreported["lost/opaque-default"] = 10, 10
	if said := b.tooMuch(false); said != "" {
		t.Errorf("each hidden answer leaves something over, and it says %q", said)
	}
	b.Unreported["lost/opaque-default"]++
	if said := b.tooMuch(false); !strings.HasPrefix(said,
		"lost/opaque-default leaves something over in 11 schedules") ||
		strings.Count(said, "\n") != 1 {
		t.Errorf("what is left over was not hidden, and it says %q", said)
	}
}

// tell prints each finding, shrunk, with the command that replays it.
func (b *book) tell(out io.Writer, every bool, again func(s sim.Schedule, trace bool) sim.Result) {
	for i, key := range slices.Sorted(maps.Keys(b.Found)) {
		f := b.Found[key]
		_, property, _ := strings.Cut(key, " ")
		least := sim.Shrink(f.Schedule, func(s sim.Schedule) bool { return violates(again(s, false), property) })
		fmt.Fprintf(out, "%d schedules break %s (%s): %s\n    %s\n", f.Count, key, sim.Properties[property], f.Text,
			command(least, every))
		if i < stories {
			fmt.Fprintln(out, strings.Join(again(least, true).Trace, "\n"))
		}
	}
}

// TestPrintFigures checks the output for a reconciler that repeats a create with a token that the system does not
// recognize: the property, the seed, the command that replays it and the trace.
func TestPrintFigures(t *testing.T) {
	again := func(s sim.Schedule, trace bool) (r sim.Result) {
		synctest.Test(t, func(t *testing.T) {
			var err error
			if r, err = sim.Run(s, trace, managed.WithCreationTokens()); err != nil {
				t.Fatal(err)
			}
		})

		return r
	}
	s, err := sim.ParseSchedule("create/opaque Create#1:lost(5s) get#9:edit")
	if err != nil {
		t.Fatal(err)
	}
	for every, option := range map[bool]string{false: "", true: "-every-option "} {
		b := &book{totals: newAccount()}
		b.add(sim.Result{Schedule: s, Violations: []sim.Violation{{Property: "S1", Text: "there are 2 (seed 7)"}}})
		var out strings.Builder
		b.tell(&out, every, again)
		for _, want := range []string{
			"1 schedules break create/opaque S1 (an object has at most one external resource): there are 2 (seed 7)\n",
			"\n    go test ./internal/sim -run TestReplay -v " + option + "-schedule='create/opaque Create#1:lost'\n",
			"VIOLATION of S1", "Create",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q, but\n%s", want, out.String())
			}
		}
		line := regexp.MustCompile(`-schedule='(.*)'`).FindStringSubmatch(out.String())
		if line == nil {
			t.Fatal("there is no line that replays it")
		}
		if least, err := sim.ParseSchedule(line[1]); err != nil || !violates(again(least, false), "S1") {
			t.Errorf("%s does not replay it: %v", least, err)
		}
	}
}
