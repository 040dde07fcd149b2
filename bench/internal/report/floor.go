package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/bench/internal/load"
)

// What the floor allocates in a steady pass at most: less than the others may.
const floorMallocs = 60

// Floor tells what the floor of a full run does not keep of what it claims, or what was
// not measured of it: everything else is compared with it. What it writes after a restart
// is not held: it does not wait for its cache, so it may be refused a write.
func Floor(r load.Result) (found []string) {
	held := []string{"requests to Ready per object", "the same, name chosen", "requests per steady pass", "requests per delete", "heap per cached object",
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
