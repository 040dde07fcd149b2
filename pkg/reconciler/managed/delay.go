package managed

import (
	"strings"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// requeue is the policy that determines when the next pass is due.
type requeue int

const (
	never           requeue = iota // the finalizer was removed
	poll                           // after the poll interval
	resync                         // after ten poll intervals: nothing is expected, but no pass is the last
	backoff                        // exponential backoff up to the poll interval
	backoffToResync                // exponential backoff up to ten poll intervals
	adaptive                       // after a tenth of the time that it has taken so far
	untilGrace                     // the same, but not later than the end of the grace period

	// Policies of outcomes without a status. Functions of the outcomes implement them.

	spread         // after a random part of the poll interval
	backoffOfQueue // after the back-off of the queue
	untilChange    // when the cause of a terminal error is checked again
)

// backsOff reports whether the delay may depend on the number of consecutive backoffs.
func (a requeue) backsOff() bool {
	switch a {
	case backoff, backoffToResync, adaptive, untilGrace:
		return true
	default:
		return false
	}
}

// The prefix of a message about the hook of a poll interval.
const pollHook = "poll interval hook"

// The least interval between two observations of a pending operation.
const leastWait = time.Second

// delay returns when to requeue the object. It is always positive.
func (p *recovery) delay(a requeue) time.Duration {
	interval := p.interval()
	switch a {
	case resync:
		return p.jitter(10 * interval)
	case backoff:
		return p.backoffDelay(interval)
	case backoffToResync:
		return p.backoffDelay(10 * interval)
	case adaptive:
		return p.adaptiveDelay(interval)
	case untilGrace:
		step := p.adaptiveDelay(interval)
		if p.recoveryGrace > 0 { // each lookup may be an expensive search
			step = p.backoffDelay(interval)
		}
		if rest := max(p.creationGrace(), p.notFoundGrace()); rest > 0 {
			return min(step, rest)
		}

		return step
	default:
		return p.nextPoll(interval)
	}
}

// interval returns the poll interval of the object.
func (p *clientSession) interval() time.Duration {
	own, set, err := meta.GetPollInterval(p.mg)
	if err != nil || !set {
		return p.r.pollInterval
	}

	return min(max(own, p.r.minPollInterval), maxPollInterval)
}

// adaptiveDelay returns a tenth of the time since the external system began to work on the object. So the end of the
// work is noticed late by at most a tenth of its duration. The delay is at least a second, and at most the poll
// interval. Most start times come from the status of the object, so a restart does not reset the delay of all
// objects.
func (p *recovery) adaptiveDelay(interval time.Duration) time.Duration {
	since := p.busySince()
	if since.IsZero() || since.Sub(p.now()) > leastWait { // the clock was set back since, so the age is unknown
		return p.backoffDelay(interval)
	}
	least := min(leastWait, interval)
	age := p.now().Sub(since) - time.Second // times of objects are truncated to seconds
	longest := external.PollByAge(age, least, interval)

	return min(p.jitter(max(least, longest*10/11)), longest)
}

// busySince returns when the external system began to work on the object. If nothing later is known, that is when the
// object ceased to be ready. The time is unknown if no status is stored.
func (p *recovery) busySince() time.Time {
	before, ready := p.read.GetCondition(commonv1.TypeReady), p.mg.GetCondition(commonv1.TypeReady)
	since := before.LastTransitionTime.Time
	if before.Status != ready.Status && !since.IsZero() {
		since = p.now()
	}
	later := func(t time.Time) {
		if t.After(since) {
			since = t
		}
	}
	later(meta.GetExternalCreateSucceeded(p.mg))
	later(p.r.time(p.state.Changed))
	if deleted := p.mg.GetDeletionTimestamp(); deleted != nil {
		later(deleted.Time)
	}

	return since
}

// backoffDelay returns one second, doubled for each consecutive backoff.
func (p *clientSession) backoffDelay(interval time.Duration) time.Duration {
	p.state.Backoffs++

	return p.jitter(min(time.Second<<min(p.state.Backoffs-1, 20), interval))
}

// nextPoll returns when to requeue an object that needs no action.
func (p *recovery) nextPoll(interval time.Duration) time.Duration {
	interval = p.watchedInterval(interval)
	if p.lister == nil {
		return positive(p.hook(interval), interval)
	}
	wanted := interval // objects that share a list must stay together
	if p.r.pollIntervalHook != nil {
		wanted = positive(p.hook(interval), interval)
	}
	tolerance := time.Duration(2 * defaultJitter * float64(wanted))
	at, ok := p.r.lists.AlignPoll(p.connection.Name, p.now(), p.now().Add(wanted), tolerance, p.r.random())
	if !ok {
		return positive(p.hook(interval), interval)
	}

	return max(at.Sub(p.now()), time.Millisecond)
}

// hook applies the poll interval hook to an interval. If the hook panics, it reports that once, and uses the default.
func (p *recovery) hook(interval time.Duration) (delay time.Duration) {
	if p.r.pollIntervalHook == nil {
		return p.jitter(interval)
	}
	err := p.redact(p.guarded(pollHook, func() error { delay = p.r.pollIntervalHook(p.mg, interval); return nil }))
	if err == nil {
		if strings.HasPrefix(p.state.LastBadInterval, pollHook) {
			p.state.LastBadInterval = ""
		}

		return delay
	}
	if p.state.LastBadInterval == "" {
		err = errors.Wrap(err, pollHook)
		p.state.LastBadInterval = err.Error()
		p.emitEvent(event.Warning(reasonInvalidPollInterval, err))
	}

	return p.jitter(interval)
}

func (p *clientSession) jitter(d time.Duration) time.Duration {
	return max(d+time.Duration((2*p.r.random()-1)*defaultJitter*float64(d)), time.Millisecond)
}

// checkPollInterval reports once that the annotation of the object has an invalid poll interval. The default is used
// instead.
func (p *schedule) checkPollInterval() {
	_, _, err := meta.GetPollInterval(p.mg)
	if err == nil {
		if !strings.HasPrefix(p.state.LastBadInterval, pollHook) { // the hook is called later
			p.state.LastBadInterval = ""
		}

		return
	}
	if warning := p.redact(err); p.state.LastBadInterval != warning.Error() {
		p.state.LastBadInterval = warning.Error()
		p.recordEvent(event.Warning(reasonInvalidPollInterval, warning))
	}
}
