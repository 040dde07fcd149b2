//go:build !race

package conformance

import "time"

// within is how long correct clients are tested with faults. It is enough for all of them, which take
// seconds, or longer on a busy machine.
const (
	within   = 10 * time.Minute
	complete = true
)
