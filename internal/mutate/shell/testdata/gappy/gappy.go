// Package gappy has tests that look at a part of it only.
package gappy

// Grade names a number of points.
func Grade(points int) string {
	if points >= 90 {
		return "good"
	}
	return "poor"
}

// Reset is called by no test.
func Reset(points *int) { *points = 0 }

// Apply forgets what it has computed.
func Apply(points int) int {
	last = points + 0
	return points
}

var last int
