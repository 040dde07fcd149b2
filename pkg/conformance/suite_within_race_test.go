//go:build race

package conformance

import "time"

// Under the race detector, where each schedule takes ten times as long, correct clients
// are tested with some of the faults: the concurrency is the same in all schedules.
const (
	within   = 5 * time.Second
	complete = false
)
