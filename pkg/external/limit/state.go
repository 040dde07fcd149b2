package limit

import "time"

// Reasons of a State, usable as the reason of a condition.
const (
	// ReasonAvailable means that calls are let through.
	ReasonAvailable = "Available"
	// ReasonThrottled means that the system has throttled calls within the last minute.
	ReasonThrottled = "Throttled"
	// ReasonUnavailable means that the system is down and calls are held.
	ReasonUnavailable = "Unavailable"
	// ReasonUnauthorized means that the system rejects the credentials and calls are
	// held.
	ReasonUnauthorized = "Unauthorized"
)

// throttledWindow is how long after it was last throttled a connection is reported as
// throttled.
const throttledWindow = time.Minute

// State is a snapshot of a Gate.
type State struct {
	// Name is the name of the connection in its Set.
	Name string
	// Reason is one of the constants of this package.
	Reason string
	// Message is the text of the last error, see [Request.Message]. It is empty if the Reason is ReasonAvailable, or if
	// no text is known.
	Message string
	// Scope is the quota that the system named when it last throttled. It may be empty.
	Scope string
	// Rate is the current limit in calls per second.
	Rate float64
	// Resume is when the gate lets calls through again. If the system is down or rejects the credentials, it is the time
	// of a single probe. Resume is zero if calls are let through now.
	Resume time.Time
	// Waiting is the number of calls that wait. InFlight is the number of calls in progress.
	Waiting, InFlight int
	// Answered means that the system has answered a call since the gate was created, with or without an error of its
	// own. Until then the Reason ReasonAvailable does not mean that the system is available.
	Answered bool
	// Calls is the number of calls that were let through. Throttled is how many of them the system throttled. Held is
	// the number of calls that were not let through.
	Calls, Throttled, Held uint64
}

// Open reports whether calls are let through, possibly at a low rate.
func (s State) Open() bool { return s.Reason == ReasonAvailable || s.Reason == ReasonThrottled }

// State returns a snapshot of the gate.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.state(g.clock.Now())
}

func (g *Gate) state(now time.Time) State {
	s := State{
		Name: g.name, Reason: g.reason(now), Scope: g.scope, Rate: float64(g.rate.limiter.Limit()),
		Waiting: g.queue.count, InFlight: g.inFlight, Answered: g.breaker.answered,
		Calls: g.calls, Throttled: g.throttled, Held: g.held,
	}
	if s.Reason != ReasonAvailable {
		s.Message = g.message
	}
	switch {
	case g.breaker.tripped:
		s.Resume = g.breaker.until
	case g.rate.pausedUntil.After(now):
		s.Resume = g.rate.pausedUntil
	}

	return s
}

func (g *Gate) reason(now time.Time) string {
	switch {
	case g.breaker.tripped:
		return g.breaker.reason
	case g.rate.pausedUntil.After(now), !g.rate.throttledAt.IsZero() && now.Sub(g.rate.throttledAt) < throttledWindow:
		return ReasonThrottled
	default:
		return ReasonAvailable
	}
}

// changed returns the state if its reason differs from the one of the last notification, and nil otherwise. Before the
// first notification, it returns nil until the system has answered or has failed.
func (g *Gate) changed(now time.Time) *State {
	reason := g.reason(now)
	if reason == g.notified || reason == ReasonAvailable && !g.breaker.answered {
		return nil
	}
	g.notified = reason
	s := g.state(now)

	return &s
}
