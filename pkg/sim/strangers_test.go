package sim_test

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/sim"
)

// TestStrangers: what others do outside, and to objects that are being created, happens
// as it is said to, and is noticed.
func TestStrangers(t *testing.T) {
	for line, want := range map[string]struct{ reason, told string }{
		"create/named Create#1:squat":     {"the name is taken between the look and the create", "actionReportNotOwned"},
		"create/findable Observe#3:squat": {"what is ours was replaced", "actionReportNotOwned"},
		"delete/named Observe#4:squat":    {"what is ours was replaced when it is to be deleted", "actionAbandon"},
		"slow-delete/named Observe#4:squat": {
			"the name is taken as soon as it is free, while the object still goes", "actionAbandon",
		},
		"create/opaque Observe#3:vanish": {"what is ours is gone", "Create#2"},
		"create/named Create#1:vanish":   {"there is nothing to be taken away yet", "Create#1"},
		"create/opaque patch#1:snatch":   {"the object is gone in spite of its finalizer", "what was created for it is deleted"},
		"create/named patch#1:snatch":    {"so it is where the name is ours to choose", "what was created for it is deleted"},
		"create/opaque patch#2:snatch":   {"an object that has had a finalizer before stays", "== pass of first ended"},
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, true)
		if !strings.Contains(strings.Join(r.Trace, "\n"), want.told) {
			t.Errorf("%s (%s): %q is not told:\n%s", line, want.reason, want.told, strings.Join(r.Trace, "\n"))
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s: %s", line, v.Property, v.Text)
		}
	}
}
