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

// Option configures a Cache.
type Option func(*options)

// WithRecheckInterval sets how long a revision is used before it is resolved again. The
// default is one minute. Values that are not positive are ignored.
func WithRecheckInterval(d time.Duration) Option {
	return func(o *options) { set(&o.recheck, d) }
}

// WithFailureInterval sets how long an error of a Resolver or a build is cached, and the
// minimum time between two builds that Recheck causes. An Unsure error is not returned
// for that time if there is a connection. The default is five seconds. Values that are
// not positive are ignored.
func WithFailureInterval(d time.Duration) Option {
	return func(o *options) { set(&o.failure, d) }
}

// WithUncertainty sets how long a cached connection is still used while its Resolver
// returns Unsure errors, since the first of them. Credentials that were revoked meanwhile
// may be used that long. The default is ten minutes. Values that are not positive are
// ignored.
func WithUncertainty(d time.Duration) Option {
	return func(o *options) { set(&o.uncertainty, d) }
}

// WithTimeout sets how long resolving and building may take together. The default is
// thirty seconds. Values that are not positive are ignored.
func WithTimeout(d time.Duration) Option {
	return func(o *options) { set(&o.timeout, d) }
}

// WithIdleTime sets how long an unused connection is kept, give or take a tenth. There is
// no timer: the connection is closed by the first Acquire of any key after that, or by
// Close. The default is ten minutes. Values that are not positive are ignored.
func WithIdleTime(d time.Duration) Option {
	return func(o *options) { set(&o.idle, d) }
}

// WithClock sets the clock. The default is the real clock, which the timeout of
// WithTimeout always uses.
func WithClock(c clock.PassiveClock) Option {
	return func(o *options) { o.clock = c }
}

func set(field *time.Duration, d time.Duration) {
	if d > 0 {
		*field = d
	}
}
