package sim_test

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
)

// TestNameTakenAndDeleteRace checks that these faults have their effects, and the object reports them.
func TestNameTakenAndDeleteRace(t *testing.T) {
	for line, want := range map[string]struct{ reason, traced string }{
		"create/named Create#1:name-taken": {"the name is taken between the look and the create",
			"action=ReportNotOwned"},
		"create/findable Observe#3:name-taken": {"what is ours was replaced", "action=ReportNotOwned"},
		"delete/named Observe#4:name-taken":    {"what is ours was replaced when it is to be deleted", "action=Abandon"},
		"slow-delete/named Observe#4:name-taken": {
			"the name is taken as soon as it is free, while the object still goes", "action=Abandon",
		},
		"create/opaque Observe#3:vanish": {"what is ours is gone", "Create#2"},
		"create/named Create#1:vanish":   {"there is nothing to be taken away yet", "Create#1"},
		"create/opaque patch#1:delete-race": {"the object is gone in spite of its finalizer",
			"what was created for it is deleted"},
		"create/named patch#1:delete-race": {"so it is where the name is ours to choose",
			"what was created for it is deleted"},
		"create/opaque patch#2:delete-race": {"an object that has had a finalizer before stays",
			"== pass of first ended"},
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, true)
		if !strings.Contains(strings.Join(r.Trace, "\n"), want.traced) {
			t.Errorf("%s (%s): %q is not in the trace:\n%s", line, want.reason, want.traced,
				strings.Join(r.Trace, "\n"))
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s: %s", line, v.Property, v.Text)
		}
	}
}
