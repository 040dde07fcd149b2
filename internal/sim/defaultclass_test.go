package sim_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
)

// TestUnreportedCreatesAreCounted checks that a resource that is left over because an error of Create hides a lost
// answer is counted separately, where such an error is a failure. An error that says that something may have been
// created blocks the object in both modes; an error that does not blocks it in strict mode only.
func TestUnreportedCreatesAreCounted(t *testing.T) {
	for line, want := range map[string]struct {
		untold  bool
		blocked int
	}{
		"create/opaque-default Create#1:fail":             {},
		"create/opaque-default Create#1:lost":             {untold: true},
		"delete/opaque-default Create#1:lost":             {untold: true},
		"create/opaque-default Create#1:lost-reported":    {blocked: 1},
		"create/opaque-default Create#1:lost-reported(2)": {blocked: 1},
		"create/opaque-default Create#1:lost-reported(3)": {blocked: 1},
		"create/opaque-default Create#1:hang-after":       {blocked: 1},
		"create/opaque-default Create#1:panics-after":     {blocked: 1},
		"create/opaque-default Create#1:deaf-after":       {blocked: 1},
		"create/opaque-default Create#1:conflict":         {blocked: 1},
		"create/opaque Create#1:lost":                     {blocked: 1},
		"create/opaque Create#1:fail":                     {blocked: 1},
		"create/opaque Create#1:lost-reported(2)":         {blocked: 1},
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, false)
		if r.Unreported != want.untold || r.Blocked != want.blocked || len(r.Excused) > 0 || len(r.Violations) > 0 {
			t.Errorf("%s: left over %t, blocked %d, want %t and %d; excused %v; violations: %v", line, r.Unreported,
				r.Blocked,
				want.untold, want.blocked, r.Excused, r.Violations)
		}
	}
}
