package limit

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

const (
	// fall is what remains of the rate after a complaint.
	fall = 0.8
	// climb is by which part of the rate that was last complained of it rises in a
	// second of full use. From one complaint to the next it takes ten seconds, and on
	// the way nine tenths of what the system allows are used.
	climb = 0.02
	// rest is for how long the system is left alone if it did not say.
	rest = time.Second
	// accuracy is what may be missing to a call.
	accuracy = 1e-6
)

// A pace is how fast calls are let through: steadily faster while that is not fast
// enough, and at once slower when the system complains.
type pace struct {
	limiter         *rate.Limiter
	lowest, highest rate.Limit
	// complained is the rate of which the system complained last, and at when.
	complained rate.Limit
	at         time.Time
	// round counts complaints. One about a call of an earlier round says nothing new.
	round uint64
	// pause is until when the system wants to be left alone.
	pause time.Time
}

func newPace(start, lowest, highest float64) pace {
	lowest = max(lowest, 1e-3)
	highest = max(highest, lowest)
	first := rate.Limit(min(max(start, lowest), highest))

	return pace{
		limiter: rate.NewLimiter(first, burst(first)),
		lowest:  rate.Limit(lowest), highest: rate.Limit(highest), complained: first,
	}
}

// burst is how many calls may be made at once: those of a second.
func burst(l rate.Limit) int { return max(int(l), 1) }

// reserve is how much of a burst is left to users.
func (p *pace) reserve(c Class) float64 {
	if c >= User || p.limiter.Burst() < 2 {
		return 0
	}

	return 1
}

// until is how long it takes until a number of calls may be made.
func (p *pace) until(now time.Time, calls float64) time.Duration {
	pause := max(p.pause.Sub(now), 0)
	missing := calls - p.limiter.TokensAt(now.Add(pause))
	if missing <= accuracy {
		return pause
	}

	return pause + time.Duration(math.Ceil(missing/float64(p.limiter.Limit())*float64(time.Second)))
}

// take is for a call that is made now, if something is missing to one or not.
func (p *pace) take(now time.Time) { p.limiter.ReserveN(now, 1) }

// gap is the time from one call to the next.
func (p *pace) gap() time.Duration {
	return time.Duration(float64(time.Second) / float64(p.limiter.Limit()))
}

// raise is for a call that had to wait and was answered. At full use there are as
// many in a second as the rate says.
func (p *pace) raise(now time.Time) {
	limit := p.limiter.Limit()
	limit = min(limit+climb*p.complained/limit, p.highest)
	p.limiter.SetLimitAt(now, limit)
	p.limiter.SetBurstAt(now, burst(limit))
}

// complain is for a call of a round of which the system said that it was too much,
// and for how long it wants to be left alone.
func (p *pace) complain(now time.Time, round uint64, after time.Duration) {
	limit := p.limiter.Limit()
	p.at = now
	if round == p.round {
		p.round++
		p.complained = limit
		limit = max(limit*fall, p.lowest)
	}
	if after <= 0 {
		after = rest
	}
	if until := now.Add(after); until.After(p.pause) {
		p.pause = until
	}
	p.slowly(p.pause, limit)
}

// slowly begins at a time with one call, and goes on at a rate.
func (p *pace) slowly(from time.Time, limit rate.Limit) {
	p.limiter = rate.NewLimiter(limit, burst(limit))
	p.limiter.AllowN(from, burst(limit)-1)
}
