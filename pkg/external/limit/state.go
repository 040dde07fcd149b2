package limit

import "time"

// Reasons of a State, fit for a condition.
const (
	// ReasonAvailable says that calls are let through.
	ReasonAvailable = "Available"
	// ReasonThrottled says that the system complained of too many calls within the
	// last minute.
	ReasonThrottled = "Throttled"
	// ReasonUnavailable says that the system is down, and nobody gets through.
	ReasonUnavailable = "Unavailable"
	// ReasonUnauthorized says that the system does not accept the credentials, and
	// nobody gets through.
	ReasonUnauthorized = "Unauthorized"
)

// calm is for how long the system must not have complained for a connection to
// count as not throttled.
const calm = time.Minute

// A State is what a Gate knows of its connection.
type State struct {
	// Name is that of the connection in its Set.
	Name string
	// Reason is one of the constants of this package.
	Reason string
	// Message is what was last said of why it is so, see [Request]. It is empty if
	// nothing is wrong, or nobody said anything.
	Message string
	// Scope is what quota the system named when it last complained, if any.
	Scope string
	// Rate is how many calls are let through per second.
	Rate float64
	// Resume is when calls are let through again: one, if the system is down or the
	// credentials are not accepted. It is zero if they are let through now.
	Resume time.Time
	// Waiting is how many wait, and InFlight how many calls have not ended.
	Waiting, InFlight int
	// Calls counts those that were let through, Complaints those of them that were
	// too much, and Held those that were told to come back.
	Calls, Complaints, Held uint64
}

// Open reports whether calls are let through, if perhaps slowly.
func (s State) Open() bool { return s.Reason == ReasonAvailable || s.Reason == ReasonThrottled }

// State returns what the gate knows now.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.state(g.clock.Now())
}

func (g *Gate) state(now time.Time) State {
	s := State{
		Name: g.name, Reason: g.reason(now), Scope: g.scope, Rate: float64(g.pace.limiter.Limit()),
		Waiting: g.line.count, InFlight: g.inFlight, Calls: g.calls, Complaints: g.complaints, Held: g.held,
	}
	if s.Reason != ReasonAvailable {
		s.Message = g.message
	}
	switch {
	case g.breaker.open:
		s.Resume = g.breaker.until
	case g.pace.pause.After(now):
		s.Resume = g.pace.pause
	}

	return s
}

func (g *Gate) reason(now time.Time) string {
	switch {
	case g.breaker.open:
		return g.breaker.reason
	case g.pace.pause.After(now), !g.pace.at.IsZero() && now.Sub(g.pace.at) < calm:
		return ReasonThrottled
	default:
		return ReasonAvailable
	}
}

// changed returns the state if its reason is another one than was told last.
func (g *Gate) changed(now time.Time) *State {
	reason := g.reason(now)
	if reason == g.told {
		return nil
	}
	g.told = reason
	s := g.state(now)

	return &s
}
