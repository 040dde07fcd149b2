//go:build !race

package conformance

import "time"

// within is for how long correct clients meet faults. They meet all of them, which takes
// seconds, or longer on a machine that does other things.
const (
	within   = 10 * time.Minute
	complete = true
)
