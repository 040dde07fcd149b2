package main

import (
	"context"
	"testing"
	"time"
)

// TestSlowMachine checks that a mutant is killed by its time only if the unchanged code does not take as long at the
// moment.
func TestSlowMachine(t *testing.T) {
	const endless = time.Hour
	cases := map[string]struct {
		mutant    time.Duration   // how long the tests take with it
		unchanged []time.Duration // and without, one time after the other
		killed    bool
	}{
		"as quick as expected":          {time.Second, nil, false},
		"slow, and so is the unchanged": {20 * time.Second, []time.Duration{10 * time.Second}, false},
		"slower each time, as the machine": {200 * time.Second, []time.Duration{10 * time.Second, 60 * time.Second},
			false},
		"slow, and the unchanged is not": {20 * time.Second, []time.Duration{time.Second}, true},
		"endless, beside a machine as slow": {endless,
			[]time.Duration{10 * time.Second, 60 * time.Second, 300 * time.Second}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, ran := lab{settings: settings{patience: time.Second}}, 0
			l.run = func(_ context.Context, _ *subject, bound time.Duration, env []string,
				_ ...string) ([]byte, time.Duration, error) {
				if len(env) == 0 {
					ran++
					return nil, tc.unchanged[ran-1], nil
				}
				if tc.mutant > bound {
					return nil, bound, errSlow
				}
				return nil, tc.mutant, nil
			}
			m := &mutant{subject: &subject{took: map[string]float64{"TestApply": 0.5}}, covered: []string{"TestApply"}}
			if r := l.try(t.Context(), m); r.killed != tc.killed || r.slow != tc.killed || ran != len(tc.unchanged) {
				t.Errorf("killed %t by %q, slow %t, want %t; the unchanged code ran %d times, want %d", r.killed,
					r.by, r.slow, tc.killed, ran, len(tc.unchanged))
			}
		})
	}
}
