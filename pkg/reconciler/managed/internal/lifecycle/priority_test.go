package lifecycle

import "testing"

func TestPriority(t *testing.T) {
	cases := map[string]struct {
		reason     string
		standing   PriorityFacts
		want       Priority
		deferrable bool
	}{
		"User": {"somebody waits, whatever else is the case",
			PriorityFacts{Requested: true, Failed: true, Busy: true, Healthy: true}, User, false},
		"Failed": {"what fails again and again does not go before what moves",
			PriorityFacts{Failed: true, Busy: true}, Retry, false},
		"Busy": {"what is being made goes before what is as it should be",
			PriorityFacts{Busy: true, Known: true}, Progress, false},
		"Poll":         {"all was well", PriorityFacts{Healthy: true, Known: true}, Poll, false},
		"AfterRestart": {"all was well, and a thousand others are", PriorityFacts{Healthy: true}, Poll, true},
		"Unlike":       {"an object that does not say that it is well is looked at", PriorityFacts{}, Poll, false},
		"FailedBefore": {"the process before failed", PriorityFacts{Healthy: true, Failed: true}, Retry, false},
		"BusyBefore": {"the process before began something", PriorityFacts{Healthy: true, Busy: true},
			Progress, false},
		"ChangedMeanwhile": {"somebody waits since the process before",
			PriorityFacts{Healthy: true, Requested: true}, User, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.standing.Priority(); got != tc.want {
				t.Errorf("%s: %+v.Priority() = %d, want %d", tc.reason, tc.standing, got, tc.want)
			}
			if got := tc.standing.Deferrable(); got != tc.deferrable {
				t.Errorf("%s: %+v.Deferrable() = %t, want %t", tc.reason, tc.standing, got, tc.deferrable)
			}
		})
	}
}

// TestOnlyHealthyObjectsAreDeferred goes through all facts.
func TestOnlyHealthyObjectsAreDeferred(t *testing.T) {
	for bits := range 32 {
		s := PriorityFacts{
			Requested: bits&1 != 0, Failed: bits&2 != 0, Busy: bits&4 != 0, Healthy: bits&8 != 0,
			Known: bits&16 != 0,
		}
		if s.Deferrable() && (s.Priority() != Poll || s.Known || !s.Healthy) {
			t.Errorf("%+v waits", s)
		}
	}
}
