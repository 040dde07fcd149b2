package load

import (
	"slices"
	"time"
)

// Measured is what is measured of a contender in each round.
type Measured struct {
	ReadyAfter, GoneAfter                          time.Duration // until all are
	ReadyCPU, GoneCPU                              time.Duration // of the provider until then, polls and all, per object
	ReadyServer, GoneServer                        time.Duration // of the API server until then, whoever asks it, per object
	ReadyEvents, GoneEvents                        float64       // sent until then, per object
	CreateRequests, DeleteRequests, SteadyRequests float64       // per object; per pass
	QuietCPU, StormCPU                             time.Duration // per pass
	PassMallocs                                    float64       // per pass, of the reconciler alone
	Mallocs                                        float64       // per pass, of the process
	Heap                                           float64       // bytes per object
	JSON, Kept                                     float64       // bytes of an object, as the API server sends it, and without its managed fields
	UserP50, UserP99                               time.Duration // of a change in a storm of polls
	PollCalls                                      float64       // to the external system, for a thousand looks
	RestartWrites                                  float64
	RestartBusiest                                 float64       // calls in the busiest second after a restart, to those that polls spread evenly make
	RestartUser                                    time.Duration // until a user's change after a restart is served
}

// A Round is the turn of a contender in one round.
type Round struct {
	Measured

	Place     int             // among the contenders of the round; the first is 1
	QuietCPUs []time.Duration // of each quiet poll interval; QuietCPU is the median
	Waits     []time.Duration // of users in the storm, the shortest first
}

// What is compared with the floor: one bad round of either is not to decide.
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

// What is held to a number of its own, and is to hold always.
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

// conclude takes from all rounds the median of what is compared, and the most of what is
// held to a number. Of quiet poll intervals it is the median of all, of whichever round:
// a machine that others share takes from one what it does not take from the next.
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

// note keeps the requests of a phase: of each kind the most that there were in a round.
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

// percentile returns what so many of a hundred do not exceed, the rest does. The least is
// the first.
func percentile(of []time.Duration, n int) time.Duration {
	if len(of) == 0 {
		return 0
	}

	return of[len(of)*n/100]
}

// Median returns the median of what is measured in each: the mean of the two in the
// middle, if there are as many below as above them, and 0 of nothing.
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
