package connection

import (
	"time"

	"k8s.io/utils/clock"
)

type options struct {
	recheck     time.Duration
	failure     time.Duration
	uncertainty time.Duration
	timeout     time.Duration
	idle        time.Duration
	clock       clock.PassiveClock
}

func defaults() options {
	return options{
		recheck:     time.Minute,
		failure:     5 * time.Second,
		uncertainty: 10 * time.Minute,
		timeout:     30 * time.Second,
		idle:        10 * time.Minute,
		clock:       clock.RealClock{},
	}
}

// An Option changes how a Cache works.
type Option func(*options)

// WithRecheckInterval sets how long a revision is trusted before it is resolved
// again, by default one minute. Anything not positive is ignored.
func WithRecheckInterval(d time.Duration) Option {
	return func(o *options) { set(&o.recheck, d) }
}

// WithFailureInterval sets how long a failure to resolve or to build is
// remembered and returned again, or, if it is Unsure, passed over; and how much
// time passes at least between two rechecks that were asked for by Recheck, by
// default five seconds. Anything not positive is ignored.
func WithFailureInterval(d time.Duration) Option {
	return func(o *options) { set(&o.failure, d) }
}

// WithUncertainty sets how long a connection stays in use while its Resolver is
// Unsure whether it should, counted from the first look that ended so, by default
// ten minutes. It is the price of a hiccup of the API server: for so long,
// credentials that were withdrawn may still be used. Anything not positive is
// ignored.
func WithUncertainty(d time.Duration) Option {
	return func(o *options) { set(&o.uncertainty, d) }
}

// WithTimeout sets how long resolving and building may take together, by default
// thirty seconds. Anything not positive is ignored.
func WithTimeout(d time.Duration) Option {
	return func(o *options) { set(&o.timeout, d) }
}

// WithIdleTime sets how long a connection that nobody uses is kept, by default
// ten minutes, give or take a tenth. There is no timer: it is closed by the first
// Acquire after that, whatever its key, or by Close, and stays open for as long as
// neither is called. Anything not positive is ignored.
func WithIdleTime(d time.Duration) Option {
	return func(o *options) { set(&o.idle, d) }
}

// WithClock sets where a cache reads the time, by default from the system. The
// timeout of WithTimeout is a timer of the system in any case.
func WithClock(c clock.PassiveClock) Option {
	return func(o *options) { o.clock = c }
}

func set(field *time.Duration, d time.Duration) {
	if d > 0 {
		*field = d
	}
}
