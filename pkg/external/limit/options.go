package limit

import (
	"time"

	"k8s.io/utils/clock"
)

// Option configures a Gate, or each Gate of a Set. Invalid values are ignored.
type Option func(*config)

type config struct {
	start, lowest, highest     float64
	maxWait, probe, maxBackoff time.Duration
	failures                   int
	clock                      clock.PassiveClock
	notify                     func(State)
}

// adaptiveMaxWait is the default of WithMaxWait, which depends on the rate.
const adaptiveMaxWait = time.Duration(-1)

func newConfig(o []Option) config {
	c := config{
		start: 10, lowest: 0.1, highest: 100,
		maxWait:  adaptiveMaxWait,
		failures: 5, probe: 10 * time.Second, maxBackoff: 5 * time.Minute,
		clock:  clock.RealClock{},
		notify: func(State) {},
	}
	for _, f := range o {
		f(&c)
	}

	return c
}

// WithRate sets the initial rate of a connection and the bounds within which it
// adapts, in calls per second. The defaults are 10, 0.1 and 100.
func WithRate(start, lowest, highest float64) Option {
	return func(c *config) {
		if lowest > 0 && lowest <= start && start <= highest {
			c.start, c.lowest, c.highest = start, lowest, highest
		}
	}
}

// WithMaxWait sets how long a call may wait in Acquire. A call that would wait longer
// is held at once, with the time to retry. The default is the time in which three
// calls are let through, at most a second: that keeps one call ready to go next and
// hardly occupies workers that other connections need.
func WithMaxWait(d time.Duration) Option {
	return func(c *config) {
		if d >= 0 {
			c.maxWait = d
		}
	}
}

// WithBreaker sets the number of consecutive failures after which calls are held, the
// interval until the first probe, and the longest interval: it doubles with each probe
// that fails. The defaults are 5, ten seconds and five minutes.
func WithBreaker(failures int, first, longest time.Duration) Option {
	return func(c *config) {
		if failures > 0 && first > 0 && first <= longest {
			c.failures, c.probe, c.maxBackoff = failures, first, longest
		}
	}
}

// WithClock sets the clock. The default is the real clock. Timers are always those of
// the standard library.
func WithClock(clock clock.PassiveClock) Option {
	return func(c *config) {
		if clock != nil {
			c.clock = clock
		}
	}
}

// WithNotify sets a function that is called when the Reason of a State changes, for
// instance to emit one event about the connection. It runs in the goroutine of the
// call that caused the change; while there are no calls, it is not called. Two
// notifications may arrive out of order: State returns the current state.
func WithNotify(notify func(State)) Option {
	return func(c *config) {
		if notify != nil {
			c.notify = notify
		}
	}
}
