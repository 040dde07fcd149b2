package lifecycle

import "testing"

func TestUrgency(t *testing.T) {
	cases := map[string]struct {
		reason   string
		standing Standing
		want     Urgency
		waits    bool
	}{
		"User": {"somebody waits, whatever else is the case",
			Standing{Asked: true, Failed: true, Busy: true, Well: true}, User, false},
		"Failed": {"what fails again and again does not go before what moves",
			Standing{Failed: true, Busy: true}, Retry, false},
		"Busy": {"what is being made goes before what is as it should be",
			Standing{Busy: true, Known: true}, Progress, false},
		"Poll":             {"all was well", Standing{Well: true, Known: true}, Poll, false},
		"AfterRestart":     {"all was well, and a thousand others are", Standing{Well: true}, Poll, true},
		"Unlike":           {"an object that does not say that it is well is looked at", Standing{}, Poll, false},
		"FailedBefore":     {"the process before failed", Standing{Well: true, Failed: true}, Retry, false},
		"BusyBefore":       {"the process before began something", Standing{Well: true, Busy: true}, Progress, false},
		"ChangedMeanwhile": {"somebody waits since the process before", Standing{Well: true, Asked: true}, User, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.standing.Urgency(); got != tc.want {
				t.Errorf("%s: %+v.Urgency() = %d, want %d", tc.reason, tc.standing, got, tc.want)
			}
			if got := tc.standing.MayWait(); got != tc.waits {
				t.Errorf("%s: %+v.MayWait() = %t, want %t", tc.reason, tc.standing, got, tc.waits)
			}
		})
	}
}

// Whatever is known, nobody whom something is the matter with waits.
func TestOnlyTheWellWait(t *testing.T) {
	for bits := range 32 {
		s := Standing{
			Asked: bits&1 != 0, Failed: bits&2 != 0, Busy: bits&4 != 0, Well: bits&8 != 0,
			Known: bits&16 != 0,
		}
		if s.MayWait() && (s.Urgency() != Poll || s.Known || !s.Well) {
			t.Errorf("%+v waits", s)
		}
	}
}
