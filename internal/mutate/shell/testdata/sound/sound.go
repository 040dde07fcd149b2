// Package sound has tests that notice every change.
package sound

// Sum adds what is at least 3, up to the first zero.
func Sum(list []int) (sum int) {
	for _, n := range list {
		switch {
		case n == 0:
			return sum
		case n < 3:
			continue
		}
		sum += n
	}
	return sum
}

// Count counts down.
func Count(n int) (steps int) {
	for n > 0 {
		n--
		steps++
	}
	return steps
}
