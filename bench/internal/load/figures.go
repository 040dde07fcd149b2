package load

import (
	"strings"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// Sum returns the number of requests.
func Sum(of map[string]int) int {
	n := 0
	for _, m := range of {
		n += m
	}

	return n
}

// Writes returns the number of requests that are not reads.
func Writes(of map[string]int) int {
	n := 0
	for what, m := range of {
		if !strings.HasPrefix(what, "GET ") {
			n += m
		}
	}

	return n
}

// looks returns how often a widget was observed.
func looks(f provider.Figures) float64 {
	return max(1, float64(f.Cloud.Looks()))
}
