package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/bench/internal/load"
)

// floorMallocs bounds the allocations of the floor in a steady reconcile: less than the others may have.
const floorMallocs = 60

// Floor returns the claims of the floor that a full run does not confirm, and its unmeasured figures: everything else
// is compared with it. Writes after a restart are not bounded: the floor does not wait for its cache, so a write may
// conflict.
func Floor(r load.Result) (found []string) {
	held := []string{"requests to Ready per object", "requests to Ready, chosen name", "requests per steady pass",
		"requests per delete", "heap per cached object",
		"busiest second after a restart"}
	for _, f := range Compare(r, r) {
		switch {
		case f.Unmeasured():
			found = append(found, f.Name+" was not measured")
		case slices.Contains(held, f.Name) && f.Over():
			found = append(found, fmt.Sprintf("%s: %.4g, at most %.4g", f.Name, f.Value, f.Most))
		}
	}
	if r.PassMallocs > floorMallocs {
		found = append(found, fmt.Sprintf("%.4g allocations in a steady pass, at most %d", r.PassMallocs, floorMallocs))
	}
	for _, phase := range []string{"create", "named", "delete"} {
		for what, n := range r.Requests[phase] {
			if !strings.HasPrefix(what, "PATCH ") {
				found = append(found, fmt.Sprintf("%s: %d of %s, which is no patch", phase, n, what))
			}
		}
	}
	slices.Sort(found)

	return found
}
