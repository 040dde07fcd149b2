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

// WithMaxWait sets how long a call may wait in Acquire. A call that would have to wait longer is held at once, and its
// error has the time to retry. The default is the time that the gate takes to let three calls through, but at most a
// second. So a next call is usually ready, and few workers are occupied.
func WithMaxWait(d time.Duration) Option {
	return func(c *config) {
		if d >= 0 {
			c.maxWait = d
		}
	}
}

// WithBreaker configures the circuit breaker. The argument failures is the number of consecutive failures after which
// the gate holds calls. The argument first is the interval until the first probe. The interval doubles with each probe
// that fails, up to longest. The defaults are 5, ten seconds and five minutes.
func WithBreaker(failures int, first, longest time.Duration) Option {
	return func(c *config) {
		if failures > 0 && first > 0 && first <= longest {
			c.failures, c.probe, c.maxBackoff = failures, first, longest
		}
	}
}

// WithClock sets the clock. The default is the system clock. Timers always use the system clock.
func WithClock(clock clock.PassiveClock) Option {
	return func(c *config) {
		if clock != nil {
			c.clock = clock
		}
	}
}

// WithNotify sets a function that is called when the system answers for the first time, and when the Reason of a State
// changes, for instance to emit one event about the connection. The call that caused the change calls the function in
// its own goroutine. So the function is not called while there are no calls. Two notifications may arrive in the wrong
// order. The method State of the Gate returns the current state.
func WithNotify(notify func(State)) Option {
	return func(c *config) {
		if notify != nil {
			c.notify = notify
		}
	}
}
