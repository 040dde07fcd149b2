package limit

import (
	"time"

	"k8s.io/utils/clock"
)

// An Option changes how a Gate, or each Gate of a Set, works. What makes no sense
// is ignored.
type Option func(*config)

type config struct {
	start, lowest, highest   float64
	patience, probe, longest time.Duration
	failures                 int
	clock                    clock.PassiveClock
	notify                   func(State)
}

// fewCalls is the patience that depends on the pace.
const fewCalls = time.Duration(-1)

func newConfig(o []Option) config {
	c := config{
		start: 10, lowest: 0.1, highest: 100,
		patience: fewCalls,
		failures: 5, probe: 10 * time.Second, longest: 5 * time.Minute,
		clock:  clock.RealClock{},
		notify: func(State) {},
	}
	for _, f := range o {
		f(&c)
	}

	return c
}

// WithRate sets how many calls per second a connection begins with, and between
// which bounds it finds how many are right. The defaults are 10, 0.1 and 100.
func WithRate(start, lowest, highest float64) Option {
	return func(c *config) {
		if lowest > 0 && lowest <= start && start <= highest {
			c.start, c.lowest, c.highest = start, lowest, highest
		}
	}
}

// WithPatience sets how long a call may wait. Who would wait longer is told to
// come back. The default is the time in which three calls are let through, at most
// a second: then there is always one to go next, and hardly a worker is kept from
// what it could do over other connections.
func WithPatience(d time.Duration) Option {
	return func(c *config) {
		if d >= 0 {
			c.patience = d
		}
	}
}

// WithBreaker sets after how many failures in a row nobody is let through, how
// long it takes until it is tried whether the system works again, and how long at
// most, because the time doubles with each try. The defaults are 5, ten seconds
// and five minutes.
func WithBreaker(failures int, first, longest time.Duration) Option {
	return func(c *config) {
		if failures > 0 && first > 0 && first <= longest {
			c.failures, c.probe, c.longest = failures, first, longest
		}
	}
}

// WithClock sets what the time is read from. The default is the machine's clock.
// Timers are those of the standard library.
func WithClock(clock clock.PassiveClock) Option {
	return func(c *config) {
		if clock != nil {
			c.clock = clock
		}
	}
}

// WithNotify sets who is told when the Reason of a State becomes another one, for
// one event about the connection. It is called by whoever made the call that
// showed it, and not at all while nobody calls. Two calls may overtake each other:
// what is the case now is said by State.
func WithNotify(notify func(State)) Option {
	return func(c *config) {
		if notify != nil {
			c.notify = notify
		}
	}
}
