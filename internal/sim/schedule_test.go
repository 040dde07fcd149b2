package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/sim"
)

// TestParseSchedule checks that every random schedule is parsed as it was printed, and everything else is an error.
func TestParseSchedule(t *testing.T) {
	for seed := range uint64(500) {
		want := sim.Random(seed, 6)
		got, err := sim.ParseSchedule(want.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", want, diff)
		}
	}
	for line, reason := range map[string]string{
		"":                                 "nothing",
		"create":                           "no class",
		"create/named Create":              "no number and no kind",
		"create/named Create#0:crash":      "counted from one",
		"create/named Create#1:flood":      "no such kind",
		"create/named Create#1:crash(two)": "no duration",
		"create/named Create#1:rewound(0)": "no number of writes",
	} {
		if _, err := sim.ParseSchedule(line); err == nil {
			t.Errorf("%q was read as a schedule: %s", line, reason)
		}
	}
}

// TestRunTwice checks that two runs of a schedule are the same.
func TestRunTwice(t *testing.T) {
	for seed := range uint64(20) {
		s := sim.Random(seed, 3)
		first, second := run(t, s, true), run(t, s, true)
		if diff := cmp.Diff(untimed(first.Trace), untimed(second.Trace)); diff != "" {
			t.Errorf("%s (-first +second):\n%s", s, diff)
		}
	}
}

// untimed returns lines without their times: the pauses between tries to store what
// Create answered are not the same each time.
func untimed(lines []string) []string {
	var out []string
	for _, line := range lines {
		if _, rest, ok := strings.Cut(strings.TrimSpace(line), "s "); ok && !strings.Contains(line, "== pass of") {
			out = append(out, rest)
		}
	}

	return out
}

// TestShrink checks that faults that a failure does not need are removed.
func TestShrink(t *testing.T) {
	s := sim.Schedule{Scenario: "update", Class: "opaque", Faults: []sim.Fault{
		{Op: "get", N: 4, Kind: sim.Crash}, {Op: "Create", N: 3, Kind: sim.Lost, For: time.Minute},
		{Op: "Update", N: 1, Kind: sim.Edit},
	}}
	got := sim.Shrink(s, func(s sim.Schedule) bool {
		return slices.ContainsFunc(s.Faults,
			func(f sim.Fault) bool { return f.Op == "Create" && f.Kind == sim.Lost && f.N != 1 })
	})
	if diff := cmp.Diff("update/opaque Create#2:lost", got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRunUnknownSchedule checks that an unknown scenario or class is an error that lists the known ones.
func TestRunUnknownSchedule(t *testing.T) {
	_, err := sim.Run(sim.Schedule{Scenario: "create", Class: "magic"}, false)
	if err == nil || !strings.Contains(err.Error(), "opaque") {
		t.Errorf("error %v does not say which classes there are", err)
	}
}
