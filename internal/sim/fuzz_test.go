package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/sim"
)

// FuzzParseSchedule checks that a line is either refused, or read as a schedule whose String is read as an equal
// schedule.
func FuzzParseSchedule(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(sim.Random(seed, 4).String())
	}
	for _, line := range []string{
		"", " ", "create", "create/named", "create/named Create#1:crash(90s)", "create/named Create#+1:crash",
		"a/b c#1:outage(-5s)",
		"create/named Create#1:crash(1s", "create/named Create#1:crash(1s))", "/ #1:fail", "a/b/c patch/status#2:lost",
		"a/b live:Secret#1:fail", "a/b x##1:fail",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			return
		}
		again, err := sim.ParseSchedule(s.String())
		if err != nil {
			t.Fatalf("%q is read, and written as %q, which is not: %v", line, s, err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("%q (-first +second):\n%s", line, diff)
		}
	})
}
