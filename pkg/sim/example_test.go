package sim_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/internal/sim"
)

// A schedule is one line, which a failure prints and TestReplay runs.
func ExampleParseSchedule() {
	s, err := sim.ParseSchedule("update/named Update#1:lost patch#2:outage(1m0s)")
	fmt.Println(s.Scenario, s.Class, len(s.Faults), err)
	fmt.Println(s)
	// Output:
	// update named 2 <nil>
	// update/named Update#1:lost patch#2:outage(1m0s)
}
