package conformance

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/sim"
)

// leftOut are the faults of the simulator that the kit does not inject. The documentation says why.
var leftOut = []sim.Kind{
	sim.LostReported,
	sim.Freeze, sim.ClockBack, sim.ClockAhead, sim.Pause, sim.Refusing, sim.Vanish, sim.NameTaken, sim.DeleteRace,
	sim.Strip, sim.StripAnnotations, sim.StripFinalizers, sim.StripOne, sim.Outdate, sim.Unserved, sim.UnservedKind,
	sim.UnservedForbidden, sim.UnservedGateway,
	sim.UnservedAfter, sim.UnservedForbiddenAfter,
	sim.DroppedAnnotations, sim.DroppedFinalizers, sim.DroppedStatus,
	sim.RefusedSize, sim.RefusedAccess, sim.Rewound, sim.RewoundDown, sim.Deaf, sim.DeafAfter, sim.Relist,
}

// TestEveryKindOfFault: the kit injects every fault of the simulator, or the documentation names it
// as left out.
func TestEveryKindOfFault(t *testing.T) {
	source, err := os.ReadFile("../../internal/sim/schedule.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/test-your-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	_, documented, _ := strings.Cut(string(page), "Faults that are left out:")
	documented, _, _ = strings.Cut(documented, "\n\n#")
	kinds := regexp.MustCompile(`(?m)^\t\w+ +Kind = "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(kinds) < 20 {
		t.Fatalf("%d kinds: the source was not read", len(kinds))
	}
	for _, m := range kinds {
		kind := sim.Kind(m[1])
		tried, left := slices.Contains(slices.Concat(faultsAtReads, faultsAtWrites), kind), slices.Contains(leftOut,
			kind)
		if tried == left {
			t.Errorf("%s: tried %t, left out %t", kind, tried, left)
		}
		if strings.Contains(documented, "`"+string(kind)+"`:") != left {
			t.Errorf("%s: left out %t, and the page says otherwise", kind, left)
		}
	}
}

// TestWithinBeginsWithFaults: what comes before the first schedule with a fault uses up none of the time of Within.
func TestWithinBeginsWithFaults(t *testing.T) {
	k := &runner{suite: Suite{Within: time.Hour}}
	if k.runFaults(nil); k.leaveOut(0) {
		t.Error("a schedule with a fault is left out, although Within is an hour and no schedule has run")
	}
	if !k.leaveOut(maxFailuresPerScenario) || k.skipped != 1 {
		t.Error("a schedule is not left out, although enough of its scenario have failed")
	}
}

// TestSpread: each number occurs once, and each first part is spread evenly.
func TestSpread(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 10, 89, 1000, 1929} {
		order := spread(n)
		if sorted := slices.Sorted(slices.Values(order)); len(slices.Compact(sorted)) != n || n > 0 && sorted[n-1] != n-1 {
			t.Errorf("%d: not each number occurs once: %v", n, order)
		}
		if n < 100 {
			continue
		}
		tenths := map[int]int{}
		for _, i := range order[:100] {
			tenths[i*10/n]++
		}
		for tenth := range 10 {
			if tenths[tenth] < 7 || tenths[tenth] > 13 {
				t.Errorf("%d: %d of the first 100 numbers are in tenth %d", n, tenths[tenth], tenth)
			}
		}
	}
}
