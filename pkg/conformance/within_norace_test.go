//go:build !race

package conformance

import "time"

// within is for how long correct clients meet faults: as long as those of a suite that
// says nothing of it.
const within = 30 * time.Second
