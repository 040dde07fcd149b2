package sim_test

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/sim"
)

// TestUntoldIsCounted: what is left over because an error of Create hides a lost answer is counted by that name,
// where such an error is a failure. An error that says so blocks the object in both modes, and one that says neither
// blocks it where a client has to tell exactly.
func TestUntoldIsCounted(t *testing.T) {
	for line, want := range map[string]struct {
		untold  bool
		blocked int
	}{
		"create/opaque-default Create#1:fail":         {},
		"create/opaque-default Create#1:lost":         {untold: true},
		"delete/opaque-default Create#1:lost":         {untold: true},
		"create/opaque-default Create#1:lost-told":    {blocked: 1},
		"create/opaque-default Create#1:lost-told(2)": {blocked: 1},
		"create/opaque-default Create#1:lost-told(3)": {blocked: 1},
		"create/opaque-default Create#1:hang-after":   {blocked: 1},
		"create/opaque-default Create#1:panics-after": {blocked: 1},
		"create/opaque-default Create#1:deaf-after":   {blocked: 1},
		"create/opaque-default Create#1:conflict":     {blocked: 1},
		"create/opaque Create#1:lost":                 {blocked: 1},
		"create/opaque Create#1:fail":                 {blocked: 1},
		"create/opaque Create#1:lost-told(2)":         {blocked: 1},
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, false)
		if r.Untold != want.untold || r.Blocked != want.blocked || len(r.Excused) > 0 || len(r.Violations) > 0 {
			t.Errorf("%s: left over %t, blocked %d, want %t and %d; excused %v; violations: %v", line, r.Untold, r.Blocked, want.untold, want.blocked, r.Excused, r.Violations)
		}
	}
}
