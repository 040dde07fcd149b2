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

// WithRecheckInterval sets how long a revision is used before the cache resolves it again. The default is one minute.
// Values that are not positive are ignored.
func WithRecheckInterval(d time.Duration) Option {
	return func(o *options) { set(&o.recheck, d) }
}

// WithFailureInterval sets how long an error of a Resolver or a build is cached. It is also the minimum time between
// two builds that Recheck causes. If there is a connection, an Unsure error is cached but not returned. The default
// is five seconds. Values that are not positive are ignored.
func WithFailureInterval(d time.Duration) Option {
	return func(o *options) { set(&o.failure, d) }
}

// WithUncertainty sets how long a cached connection is used while its Resolver returns Unsure errors. The time begins
// with the first of these errors. Credentials that are revoked meanwhile may be used that long. The default is ten
// minutes. Values that are not positive are ignored.
func WithUncertainty(d time.Duration) Option {
	return func(o *options) { set(&o.uncertainty, d) }
}

// WithTimeout sets how long resolving and building may take together. The default is
// thirty seconds. Values that are not positive are ignored.
func WithTimeout(d time.Duration) Option {
	return func(o *options) { set(&o.timeout, d) }
}

// WithIdleTime sets how long an unused connection is kept, plus or minus a tenth. The default is ten minutes. There
// is no timer: after the idle time, the connection stays open until the next call of Acquire, for any key, or of Close.
// Values that are not positive are ignored.
func WithIdleTime(d time.Duration) Option {
	return func(o *options) { set(&o.idle, d) }
}

// WithClock sets the clock. The default is the system clock. The timeout of WithTimeout always uses the system clock.
func WithClock(c clock.PassiveClock) Option {
	return func(o *options) { o.clock = c }
}

func set(field *time.Duration, d time.Duration) {
	if d > 0 {
		*field = d
	}
}
