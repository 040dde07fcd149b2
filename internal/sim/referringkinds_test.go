package sim_test

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
)

// TestEventsOfKindsOutOfOrder checks that the event of a referent comes after that of the object, before it if the
// cache of the objects is frozen, or in a list with it.
func TestEventsOfKindsOutOfOrder(t *testing.T) {
	const unseen = `"near" not found`
	for line, want := range map[string]bool{
		"referent/opaque": true,
		"referent/opaque patch/status#1:freeze(1m)":  false,
		"referent/opaque patch/status#1:relist(50s)": false,
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, true)
		trace := strings.Join(r.Trace, "\n")
		if got := strings.Contains(trace, unseen); got != want || !strings.Contains(trace, "pass of second ended") {
			t.Errorf("%s: the referent was not seen with its object: %t, want %t", line, got, want)
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s: %s", line, v.Property, v.Text)
		}
	}
}
