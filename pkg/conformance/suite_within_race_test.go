//go:build race

package conformance

import "time"

// Under the race detector, where each schedule takes ten times as long, correct clients
// meet some of the faults: what runs at the same time is the same in all schedules.
const (
	within   = 5 * time.Second
	complete = false
)
