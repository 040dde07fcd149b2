package limit

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

const (
	// decreaseFactor is applied to the rate when the system throttles.
	decreaseFactor = 0.8
	// increaseFraction is the part of the rate that was last throttled by which the
	// rate rises in a second of full use. So ten seconds pass from one throttled call to
	// the next, and on average nine tenths of what the system allows are used.
	increaseFraction = 0.02
	// defaultPause is how long no calls are made after a throttled one that had no
	// Retry-After.
	defaultPause = time.Second
	// tokenTolerance is how much of a token may be missing, because of rounding.
	tokenTolerance = 1e-6
)

// adaptiveRate is a token bucket whose rate follows additive increase and
// multiplicative decrease.
type adaptiveRate struct {
	limiter         *rate.Limiter
	lowest, highest rate.Limit
	// throttledLimit is the rate at which the system last throttled, throttledAt when.
	throttledLimit rate.Limit
	throttledAt    time.Time
	// epoch counts decreases. A throttled call that was let through in an earlier epoch
	// does not decrease the rate again.
	epoch uint64
	// pausedUntil is the end of the last Retry-After.
	pausedUntil time.Time
}

func newAdaptiveRate(start, lowest, highest float64) adaptiveRate {
	lowest = max(lowest, 1e-3)
	highest = max(highest, lowest)
	first := rate.Limit(min(max(start, lowest), highest))

	return adaptiveRate{
		limiter: rate.NewLimiter(first, burst(first)),
		lowest:  rate.Limit(lowest), highest: rate.Limit(highest), throttledLimit: first,
	}
}

// burst returns the size of the bucket: the calls of one second, at least one.
func burst(l rate.Limit) int { return max(int(l), 1) }

// reserved returns how many tokens a call of this priority has to leave for users.
func (r *adaptiveRate) reserved(p Priority) float64 {
	if p >= User || r.limiter.Burst() < 2 {
		return 0
	}

	return 1
}

// delay returns how long it takes until the bucket has this many tokens.
func (r *adaptiveRate) delay(now time.Time, tokens float64) time.Duration {
	pause := max(r.pausedUntil.Sub(now), 0)
	missing := tokens - r.limiter.TokensAt(now.Add(pause))
	if missing <= tokenTolerance {
		return pause
	}

	return pause + time.Duration(math.Ceil(missing/float64(r.limiter.Limit())*float64(time.Second)))
}

// take takes a token for a call that is made now, even if there is none.
func (r *adaptiveRate) take(now time.Time) { r.limiter.ReserveN(now, 1) }

// interval returns the time between two calls at the current rate.
func (r *adaptiveRate) interval() time.Duration {
	return time.Duration(float64(time.Second) / float64(r.limiter.Limit()))
}

// increase raises the rate a little, after a call that had to wait and was answered. At
// full use that happens as many times a second as the rate says.
func (r *adaptiveRate) increase(now time.Time) {
	limit := r.limiter.Limit()
	limit = min(limit+increaseFraction*r.throttledLimit/limit, r.highest)
	r.limiter.SetLimitAt(now, limit)
	r.limiter.SetBurstAt(now, burst(limit))
}

// decrease lowers the rate, after a throttled call that was let through in this epoch,
// and makes no calls until retryAfter has passed.
func (r *adaptiveRate) decrease(now time.Time, epoch uint64, retryAfter time.Duration) {
	limit := r.limiter.Limit()
	r.throttledAt = now
	if epoch == r.epoch {
		r.epoch++
		r.throttledLimit = limit
		limit = max(limit*decreaseFactor, r.lowest)
	}
	if retryAfter <= 0 {
		retryAfter = defaultPause
	}
	if until := now.Add(retryAfter); until.After(r.pausedUntil) {
		r.pausedUntil = until
	}
	r.restart(r.pausedUntil, limit)
}

// restart begins at a time with a bucket of one token, which fills at the limit.
func (r *adaptiveRate) restart(from time.Time, limit rate.Limit) {
	r.limiter = rate.NewLimiter(limit, burst(limit))
	r.limiter.AllowN(from, burst(limit)-1)
}
