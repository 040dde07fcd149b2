package limit

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// idleTimeout is how long an unused gate is kept.
const idleTimeout = time.Hour

// Set has a Gate for each connection. It must be created by NewSet, may be used
// concurrently, and is a prometheus.Collector. A gate that has been unused for an hour
// is removed.
type Set struct {
	config config

	mu        sync.Mutex
	gates     map[string]*Gate
	lastSweep time.Time
	listeners map[*func(State)]struct{}
}

// NewSet returns a set. It creates its gates with the given options, see New.
func NewSet(o ...Option) *Set {
	c := newConfig(o)
	s := &Set{gates: map[string]*Gate{}, lastSweep: c.clock.Now(), listeners: map[*func(State)]struct{}{}}
	first := c.notify
	c.notify = func(state State) {
		first(state)
		s.publish(state)
	}
	s.config = c

	return s
}

// Listen adds a listener. Until stop is called, the set calls the listener in the same cases as the function of
// WithNotify.
func (s *Set) Listen(listener func(State)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.listeners[&listener] = struct{}{}

	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		delete(s.listeners, &listener)
	}
}

func (s *Set) publish(state State) {
	s.mu.Lock()
	listeners := slices.Collect(maps.Keys(s.listeners))
	s.mu.Unlock()

	for _, listener := range listeners {
		(*listener)(state)
	}
}

// State returns the state of a connection. If the set has no gate for the connection, it returns false.
func (s *Set) State(name string) (State, bool) {
	s.mu.Lock()
	g, ok := s.gates[name]
	s.mu.Unlock()
	if !ok {
		return State{}, false
	}

	return g.State(), true
}

// Gate returns the gate of a connection. It returns the same gate while the connection is in use. The name becomes a
// metric label, such as "ProviderConfig/default/prod", so it must not contain a secret. If a connection has several
// quotas, use a name for each quota.
//
// A gate that holds calls may do so because of old credentials. When the credentials have changed, call Drop.
// Alternatively use GateOf, or make the revision of the credentials a part of the name.
func (s *Set) Gate(name string) *Gate {
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.config.clock.Now()
	s.sweep(now)
	g, ok := s.gates[name]
	if !ok {
		g = newGate(name, s.config)
		s.gates[name] = g
	}

	return g
}

// GateOf is [Set.Gate] for a connection with a revision, which changes when settings or credentials change. If the
// revision changes while calls are held, the gate lets one call through at once as a probe, because the change may
// have corrected the error.
func (s *Set) GateOf(name, revision string) *Gate {
	g := s.Gate(name)
	g.notifyChange(g.setRevision(revision))

	return g
}

// Drop removes the gate of a connection. Calls that wait at it continue to wait there.
func (s *Set) Drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.gates, name)
}

// sweep removes unused gates. It visits all of them, therefore rarely.
func (s *Set) sweep(now time.Time) {
	if now.Sub(s.lastSweep) < idleTimeout/2 {
		return
	}
	s.lastSweep = now
	for name, g := range s.gates {
		if g.isIdle(now) {
			delete(s.gates, name)
		}
	}
}

func (g *Gate) isIdle(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.queue.count == 0 && now.Sub(g.lastUsed) >= idleTimeout
}

// States returns the states of all connections, in no particular order.
func (s *Set) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()

	states := make([]State, 0, len(s.gates))
	for _, g := range s.gates {
		states = append(states, g.State())
	}

	return states
}

// Metrics by connection. They are collected from the gates that exist, so that a
// connection that was removed leaves no series.
var (
	rateDesc      = describe("rate", "Limit of the rate of calls to an external system, in calls per second.")
	openDesc      = describe("open", "1 if calls to an external system are let through, 0 if it is down or unauthorized.")
	waitingDesc   = describe("waiting", "Calls to an external system that wait to be let through.")
	inFlightDesc  = describe("in_flight", "Calls to an external system in progress.")
	callsDesc     = describe("calls_total", "Calls to an external system that were let through.")
	throttledDesc = describe("throttled_total", "Calls that an external system throttled.")
	heldDesc      = describe("held_total", "Calls to an external system that were held, to be retried later.")
)

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("moorage_connection_"+name, help, []string{"connection"}, nil)
}

// Describe implements prometheus.Collector.
func (s *Set) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		rateDesc, openDesc, waitingDesc, inFlightDesc, callsDesc, throttledDesc, heldDesc,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Set) Collect(to chan<- prometheus.Metric) {
	for _, state := range s.States() {
		open := 0.0
		if state.Open() {
			open = 1
		}
		for _, m := range []struct {
			desc  *prometheus.Desc
			kind  prometheus.ValueType
			value float64
		}{
			{rateDesc, prometheus.GaugeValue, state.Rate},
			{openDesc, prometheus.GaugeValue, open},
			{waitingDesc, prometheus.GaugeValue, float64(state.Waiting)},
			{inFlightDesc, prometheus.GaugeValue, float64(state.InFlight)},
			{callsDesc, prometheus.CounterValue, float64(state.Calls)},
			{throttledDesc, prometheus.CounterValue, float64(state.Throttled)},
			{heldDesc, prometheus.CounterValue, float64(state.Held)},
		} {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value, state.Name)
		}
	}
}
