package load

import (
	"slices"
	"time"
)

// Measured is what is measured of a contender in each round.
type Measured struct {
	ReadyAfter, GoneAfter time.Duration // until all objects are
	ReadyCPU, GoneCPU     time.Duration // of the provider until then, polls included, per object
	// of the API server until then, for all clients, per object
	ReadyServer, GoneServer                        time.Duration
	ReadyEvents, GoneEvents                        float64       // sent until then, per object
	CreateRequests, DeleteRequests, SteadyRequests float64       // per object; per pass
	QuietCPU, StormCPU                             time.Duration // per pass
	PassMallocs                                    float64       // per pass, of the reconciler alone
	Mallocs                                        float64       // per pass, of the process
	Heap                                           float64       // bytes per object
	// bytes of an object, as the API server sends it, and without its managed fields
	JSON, Kept       float64
	UserP50, UserP99 time.Duration // of a change in a storm of polls
	PollCalls        float64       // to the external system, for a thousand observations
	RestartWrites    float64
	RestartBusiest   float64       // calls in the busiest second after a restart, relative to evenly spread polls
	RestartUser      time.Duration // until a user's change after a restart is applied
}

// A Round is the turn of a contender in one round.
type Round struct {
	Measured

	Place     int             // among the contenders of the round; the first is 1
	QuietCPUs []time.Duration // of each quiet poll interval; QuietCPU is the median
	Latencies []time.Duration // of users' changes in the storm, the shortest first
}

// compared are the figures that are compared with the floor: one bad round must not decide.
var compared = []func(*Measured) *time.Duration{
	func(m *Measured) *time.Duration { return &m.ReadyAfter },
	func(m *Measured) *time.Duration { return &m.GoneAfter },
	func(m *Measured) *time.Duration { return &m.ReadyCPU },
	func(m *Measured) *time.Duration { return &m.GoneCPU },
	func(m *Measured) *time.Duration { return &m.ReadyServer },
	func(m *Measured) *time.Duration { return &m.GoneServer },
	func(m *Measured) *time.Duration { return &m.StormCPU },
	func(m *Measured) *time.Duration { return &m.UserP50 },
	func(m *Measured) *time.Duration { return &m.UserP99 },
}

// held are the figures with a bound of their own, which holds in every round.
var held = []func(*Measured) *float64{
	func(m *Measured) *float64 { return &m.ReadyEvents },
	func(m *Measured) *float64 { return &m.GoneEvents },
	func(m *Measured) *float64 { return &m.CreateRequests },
	func(m *Measured) *float64 { return &m.DeleteRequests },
	func(m *Measured) *float64 { return &m.SteadyRequests },
	func(m *Measured) *float64 { return &m.PassMallocs },
	func(m *Measured) *float64 { return &m.Mallocs },
	func(m *Measured) *float64 { return &m.Heap },
	func(m *Measured) *float64 { return &m.JSON },
	func(m *Measured) *float64 { return &m.Kept },
	func(m *Measured) *float64 { return &m.PollCalls },
	func(m *Measured) *float64 { return &m.RestartWrites },
	func(m *Measured) *float64 { return &m.RestartBusiest },
}

// conclude sets each compared figure to the median of all rounds, and each bounded one to the maximum. For quiet poll
// intervals it is the median of all intervals of all rounds: on a shared machine they differ.
func (r *Result) conclude() {
	for _, field := range compared {
		*field(&r.Measured) = Median(r.Rounds, func(one Round) time.Duration { return *field(&one.Measured) })
	}
	var quiet []time.Duration
	for _, one := range r.Rounds {
		quiet = append(quiet, one.QuietCPUs...)
		r.RestartUser = max(r.RestartUser, one.RestartUser)
		for _, field := range held {
			*field(&r.Measured) = max(*field(&r.Measured), *field(&one.Measured))
		}
	}
	r.QuietCPU = median(quiet)
}

// note records the requests of a phase: of each kind the maximum of the rounds.
func (r *Result) note(phase string, requests map[string]int) {
	most := r.Requests[phase]
	if most == nil {
		most = map[string]int{}
	}
	for what, n := range requests {
		most[what] = max(most[what], n)
	}
	r.Requests[phase] = most
}

// percentile returns the smallest value that n percent of the values do not exceed, at least the first.
func percentile(of []time.Duration, n int) time.Duration {
	if len(of) == 0 {
		return 0
	}

	return of[len(of)*n/100]
}

// Median returns the median of a measure: the mean of the middle two of an even number of values, and 0 of none.
func Median[T any](of []T, measure func(T) time.Duration) time.Duration {
	var all []time.Duration
	for _, one := range of {
		all = append(all, measure(one))
	}

	return median(all)
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))

	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
