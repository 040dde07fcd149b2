package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// order is the argument of -list that lists the uses against the reading order.
const order = "order"

// simulatorDirs are the folders in which the simulator may be.
var simulatorDirs = []string{"pkg/sim", "internal/sim"}

// orderBars returns the percentages of the uses against the reading order. See measure.Package.Uses.
func orderBars(t *measure.Tree) []bar {
	return []bar{
		orderBar(t, "managed", 12, managedDir),
		orderBar(t, "the simulator", 20, simulatorDirs...),
	}
}

func orderBar(t *measure.Tree, name string, most int, dirs ...string) bar {
	b := bar{
		what: "% of the uses between definitions of one file of " + name + " that run against the reading order",
		is:   unknown, most: most,
	}
	all, against := uses(t, dirs...), 0
	for _, u := range all {
		if u.Against {
			against++
		}
	}
	if len(all) > 0 {
		b.is, b.note = percent(against, len(all)), fmt.Sprintf("(%d of %d)", against, len(all))
	}
	return b
}

// percent returns a percentage, rounded up: a percentage slightly above a bar does not meet the bar.
func percent(part, whole int) int { return (100*part + whole - 1) / whole }

// uses returns the uses in the packages in and below the folders.
func uses(t *measure.Tree, dirs ...string) (out []measure.Use) {
	packages := map[string]bool{}
	for _, f := range t.Go {
		if f.In(dirs...) && !f.Test() {
			packages[f.Dir()] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		out = append(out, t.Package(dir).Uses()...)
	}
	return out
}

// against returns the uses against the reading order in all packages of the bars.
func against(t *measure.Tree) (out []measure.Finding) {
	for _, u := range uses(t, append([]string{managedDir}, simulatorDirs...)...) {
		if u.Against {
			out = append(out, u.Finding)
		}
	}
	return out
}
