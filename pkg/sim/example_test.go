package sim_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/sim"
)

// A schedule is one line, which a failure prints, and which can be run again.
func ExampleParseSchedule() {
	s, err := sim.ParseSchedule("update/named Update#1:lost patch#2:outage(1m0s)")
	fmt.Println(s.Scenario, s.Class, len(s.Faults), err)
	fmt.Println(s)
	// Output:
	// update named 2 <nil>
	// update/named Update#1:lost patch#2:outage(1m0s)
}
