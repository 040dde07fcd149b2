package sim_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/planted"
	"github.com/moorage-dev/moorage/internal/sim/search"
)

var (
	plantedOne = flag.String("planted", "",
		"the defect, compiled into this program and chosen by its environment, that TestPlanted finds")
	searched = flag.Bool("search", false, "TestPlanted finds it as if its schedule were not known")
)

// mostSearched is how many schedules a search for a defect runs at most: ten seconds of a processor of 2024.
// A count is the same on a slow machine and on a busy one.
const mostSearched = 25_000

// mustBeFound has the defects that must be found: the known violations of other runtimes, as they would look in this
// one, and errors that are easily made.
var mustBeFound = []string{
	"V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V11", "V13", "V14",
	"precondition dropped", "finalizer after create", "cancelled context used", "absence trusted", "keyed by name",
	"base older than own write", "status by name only", "all annotations sent again", "absence taken from a list",
	"ageing over users",
	"conflict by RequeueAfter", "two mutations in a pass", "stamp not sent with an update", "grace by wall clock",
	"foreign owner updated",
}

func defects(t *testing.T) []planted.Defect {
	t.Helper()
	all, err := planted.All("testdata/mutants")
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// TestMustBeFound checks that there is a defect for everything that must be found, and each has a schedule and a
// property that is checked.
func TestMustBeFound(t *testing.T) {
	items := map[string]bool{}
	for _, d := range defects(t) {
		items[d.Item] = true
		if (d.Schedule == "") == (d.Test == "") {
			t.Errorf("%s has no schedule that shows it", d.Name)
		}
		for _, property := range d.Breaks {
			if sim.Properties[property] == "" && d.Test == "" {
				t.Errorf("%s breaks %s, which is no property", d.Name, property)
			}
		}
		for _, kind := range d.Alone {
			if !sim.IsKnown(sim.Kind(kind)) {
				t.Errorf("%s is found by %s alone, which is no kind of fault", d.Name, kind)
			}
		}
		if d.Item != "" && !slices.Contains(mustBeFound, d.Item) {
			t.Errorf("%s is for %q, which is not on the list", d.Name, d.Item)
		}
	}
	for _, item := range mustBeFound {
		if !items[item] {
			t.Errorf("no defect is planted for %q", item)
		}
	}
	for property, text := range sim.Properties {
		if !slices.ContainsFunc(defects(t), func(d planted.Defect) bool { return d.Breaks[0] == property }) {
			t.Errorf("no defect is planted that is found to break %s: %s", property, text)
		}
	}
}

// Kinds of doubts for which no defect can be made that they alone find, and why: a defect names them together with
// others.
var notAlone = map[sim.Kind]string{
	sim.Panics: "only a defect that takes the panic of a call for its success could tell it from PanicsAfter; and " +
		"after a success the resource is looked at, and the call is made again",
	sim.Deaf: "the call answers nothing, so that only what there is outside tells it from DeafAfter; and what was not " +
		"done is done by the next pass or process",
}

// TestEachDoubtFinds checks that for each kind of doubt there is a defect that no fault of another kind finds, or, if
// that is impossible, one that only the kinds that it names find. "make mutants-search" verifies that.
func TestEachDoubtFinds(t *testing.T) {
	all := defects(t)
	for _, kind := range sim.Doubts() {
		named, alone := false, false
		for _, of := range all {
			if slices.Contains(of.Alone, string(kind)) {
				named, alone = true, alone || len(of.Alone) == 1
			}
		}
		switch why := notAlone[kind]; {
		case !named:
			t.Errorf("no defect is planted that is found by %s and by no fault of another kind than it names (alone:)", kind)
		case !alone && why == "":
			t.Errorf("no defect is planted that %s alone finds: plant one, or say in notAlone why there is none",
				kind)
		case alone && why != "":
			t.Errorf("a defect is planted that %s alone finds: take it out of notAlone", kind)
		}
	}
	for kind := range notAlone {
		if !sim.IsDoubt(kind) {
			t.Errorf("%s is no doubt", kind)
		}
	}
}

// TestPlantable checks that the lines that each defect changes are in the source, and in a function. A change of such a
// line has to change the defect, too.
func TestPlantable(t *testing.T) {
	all := defects(t)
	t.Chdir("../..")
	if _, err := planted.Overlay(all, t.TempDir()); err != nil {
		t.Error(err)
	}
}

// TestPlanted checks that the schedule of a defect breaks nothing without the defect. With it, which is when this
// program was compiled with all defects and one was chosen, or when the defect is one of a client, the schedule breaks
// the property of the defect.
func TestPlanted(t *testing.T) {
	for _, d := range defects(t) {
		switch {
		case *plantedOne == d.Name:
			show(t, d, *searched && d.Search == "")
		case *plantedOne != "" || d.Test != "":
		default:
			if r := sim.Stage(t, scheduleOf(t, d), ""); len(r.Violations) > 0 {
				t.Errorf("%s does harm without the defect: %v", d.Name, r.Violations)
			}
			if d.Client != "" {
				show(t, d, false)
			}
		}
	}
}

func scheduleOf(t *testing.T, d planted.Defect) sim.Schedule {
	t.Helper()
	s, err := sim.ParseSchedule(d.Schedule)
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}

	return s
}

// show verifies that a defect is found. The command mutants reads the line that it prints.
func show(t *testing.T, d planted.Defect, search bool) {
	t.Helper()
	ran := 1
	var r sim.Result
	if search {
		r, ran = lookFor(t, d)
	} else {
		r = sim.Stage(t, scheduleOf(t, d), d.Client)
	}
	property := brokenOf(d, r)
	if property == "" {
		t.Errorf("%s (%s) did not break %v, but %v", d.Name, d.Why, d.Breaks, r.Violations)

		return
	}
	if search {
		r.Schedule = sim.Shrink(r.Schedule, func(less sim.Schedule) bool {
			return violates(sim.Stage(t, less, d.Client),
				property)
		})
	}
	t.Logf("found %s after %d schedules by %s", property, ran, r.Schedule)
	if search && len(d.Alone) > 0 {
		showAlone(t, d)
	}
}

// showAlone verifies that no single fault of another kind finds a defect, at any boundary of the scenarios in which it
// is searched for. The command mutants reads the line that it prints, too.
func showAlone(t *testing.T, d planted.Defect) {
	t.Helper()
	var without []sim.Kind
	for _, kind := range d.Alone {
		without = append(without, sim.Kind(kind))
	}
	ran := 0
	for _, doubts := range []bool{false, true} {
		for _, class := range sim.Classes() {
			for _, scenario := range sim.Scenarios() {
				if sim.Has(scenario, class) && strings.Contains(fmt.Sprintf("|%s/%s", scenario, class), d.Only) {
					e := search.Explorer{
						Scenario: scenario, Class: class, Depth: 1, Doubts: doubts, Without: without,
						Run:   func(s sim.Schedule) sim.Result { return sim.Stage(t, s, d.Client) },
						Found: func(r sim.Result) { t.Errorf("also found by %s; it breaks %v", r.Schedule, r.Violations) },
					}
					e.Explore()
					ran += e.Ran
				}
			}
		}
	}
	t.Logf("found by no other fault in %d schedules", ran)
}

// brokenOf returns the first property of a defect that a result has violated, or nothing.
func brokenOf(d planted.Defect, r sim.Result) string {
	for _, property := range d.Breaks {
		if violates(r, property) {
			return property
		}
	}

	return ""
}

// How to look for a defect, one after the other: what is tried in less time comes first.
var searches = []struct {
	depth  int
	short  bool
	doubts bool
}{{1, false, false}, {1, false, true}, {2, true, false}, {2, false, false}}

// lookFor tries every single fault at every boundary of the scenarios of a defect, and then pairs, first of those that
// lead to other states than the rest, until the defect is found or mostSearched schedules were run. It returns how many
// were.
func lookFor(t *testing.T, d planted.Defect) (found sim.Result, ran int) {
	t.Helper()
	try := func(s sim.Schedule) sim.Result {
		if found.Violations != nil || ran == mostSearched {
			return sim.Result{}
		}
		ran++
		r := sim.Stage(t, s, d.Client)
		if brokenOf(d, r) != "" {
			found = r
			found.Schedule = found.Schedule.GuidedBy(nil) // it is shrunk, which makes others of it
		}

		return r
	}
	for _, as := range searches {
		for _, class := range sim.Classes() {
			for _, scenario := range sim.Scenarios() {
				if sim.Has(scenario, class) && strings.Contains(fmt.Sprintf("|%s/%s", scenario, class), d.Only) {
					e := search.Explorer{
						Scenario: scenario, Class: class, Depth: as.depth, Short: as.short,
						Doubts: as.doubts, Apart: true, Run: try, Found: func(sim.Result) {},
					}
					e.Explore()
				}
			}
		}
	}

	return found, ran
}
