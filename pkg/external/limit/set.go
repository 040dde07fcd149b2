package limit

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// idle is for how long nobody must have used a gate for it to be forgotten.
const idle = time.Hour

// A Set has a Gate for each connection. It is made by NewSet, may be used
// concurrently, and is a prometheus.Collector. What it knows of a connection is
// forgotten when nobody has used it for an hour.
type Set struct {
	config config

	mu        sync.Mutex
	gates     map[string]*Gate
	swept     time.Time
	listeners map[*func(State)]struct{}
}

// NewSet returns a set whose gates have these options, see New.
func NewSet(o ...Option) *Set {
	c := newConfig(o)
	s := &Set{gates: map[string]*Gate{}, swept: c.clock.Now(), listeners: map[*func(State)]struct{}{}}
	first := c.notify
	c.notify = func(state State) {
		first(state)
		s.publish(state)
	}
	s.config = c

	return s
}

// Listen calls listener with the states that WithNotify is for, until stop is called,
// and as that is called.
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

// State returns what is known of a connection, if anybody has used it lately.
func (s *Set) State(name string) (State, bool) {
	s.mu.Lock()
	g, ok := s.gates[name]
	s.mu.Unlock()
	if !ok {
		return State{}, false
	}

	return g.State(), true
}

// Gate returns the gate of a connection, always the same one while it is in use.
// The name is that of the connection in metrics, such as
// "ProviderConfig/default/prod"; where several quotas are known, it names one of
// them too. It must not have a secret in it.
//
// New credentials may be good ones: call Drop when they have changed, or have what
// tells them apart in the name.
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

// GateOf is [Set.Gate], for a connection that is told apart from earlier ones of the
// same name by a revision, which is another one when its settings or credentials
// are. With another one than before, a connection that nobody got through to is
// tried at once: what was wrong may have been put right.
func (s *Set) GateOf(name, revision string) *Gate {
	g := s.Gate(name)
	g.tell(g.renew(revision))

	return g
}

// Drop forgets what is known of a connection. Who waits at its gate goes on
// waiting there.
func (s *Set) Drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.gates, name)
}

// sweep forgets gates that nobody uses. It looks at all of them, so it does so
// rarely.
func (s *Set) sweep(now time.Time) {
	if now.Sub(s.swept) < idle/2 {
		return
	}
	s.swept = now
	for name, g := range s.gates {
		if g.isIdle(now) {
			delete(s.gates, name)
		}
	}
}

func (g *Gate) isIdle(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.line.count == 0 && now.Sub(g.used) >= idle
}

// States returns the states of all connections, in no order.
func (s *Set) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()

	states := make([]State, 0, len(s.gates))
	for _, g := range s.gates {
		states = append(states, g.State())
	}

	return states
}

// Metrics, by connection. They are read from the gates there are, so that nothing
// is left of a connection that is gone.
var (
	rateDesc       = describe("rate", "Calls per second that are let through to an external system at most.")
	openDesc       = describe("open", "Whether calls to an external system are let through: 1, or 0 if it is down or does not accept the credentials.")
	waitingDesc    = describe("waiting", "Calls to an external system that wait.")
	inFlightDesc   = describe("in_flight", "Calls to an external system that have not ended.")
	callsDesc      = describe("calls_total", "Calls to an external system that were let through.")
	complaintsDesc = describe("throttled_total", "Calls of which the external system said that they were too much.")
	heldDesc       = describe("held_total", "Calls to an external system that were told to come back.")
)

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("moorage_connection_"+name, help, []string{"connection"}, nil)
}

// Describe is of prometheus.Collector.
func (s *Set) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{rateDesc, openDesc, waitingDesc, inFlightDesc, callsDesc, complaintsDesc, heldDesc} {
		to <- d
	}
}

// Collect is of prometheus.Collector.
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
			{complaintsDesc, prometheus.CounterValue, float64(state.Complaints)},
			{heldDesc, prometheus.CounterValue, float64(state.Held)},
		} {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value, state.Name)
		}
	}
}
