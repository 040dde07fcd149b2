package load

import (
	"slices"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// Sum returns how many requests there were.
func Sum(of map[string]int) int {
	n := 0
	for _, m := range of {
		n += m
	}

	return n
}

// Writes returns how many of the requests were more than a look.
func Writes(of map[string]int) int {
	n := 0
	for what, m := range of {
		if !strings.HasPrefix(what, "GET ") {
			n += m
		}
	}

	return n
}

// Median returns the median of what is measured in each: the mean of the two in the
// middle, if there are as many below as above them, and 0 of nothing.
func Median[T any](of []T, measure func(T) time.Duration) time.Duration {
	var all []time.Duration
	for _, one := range of {
		all = append(all, measure(one))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)

	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// Looks returns how often a buoy was looked at.
func looks(f provider.Figures) float64 {
	return max(1, float64(f.Cloud.Calls["Find"]+f.Cloud.Served))
}
