package sim

import "slices"

// Shrink removes from a schedule the faults that are not needed for fails to return true. It moves the other faults to
// earlier executions of their operations, and gives them their usual duration or number, if fails still returns true.
func Shrink(s Schedule, fails func(Schedule) bool) Schedule {
	for i := 0; i < len(s.Faults); {
		less := s
		less.Faults = slices.Delete(slices.Clone(s.Faults), i, i+1)
		if fails(less) {
			s, i = less, 0
		} else {
			i++
		}
	}
	for i, f := range s.Faults {
		if usual := s.with(i, Fault{Op: f.Op, N: f.N, Kind: f.Kind}); (f.For > lasts[f.Kind] || f.Writes > 1) &&
			fails(usual) {
			s, f = usual, usual.Faults[i]
		}
		for n := 1; n < f.N; n++ {
			if earlier := s.with(i, Fault{Op: f.Op, N: n, Kind: f.Kind, For: f.For, Writes: f.Writes}); fails(earlier) {
				s = earlier

				break
			}
		}
	}

	return s
}

// with returns the schedule with one fault replaced.
func (s Schedule) with(i int, f Fault) Schedule {
	s.Faults = slices.Clone(s.Faults)
	s.Faults[i] = f

	return s
}
