// Package load puts load on providers, one after the other, and tells what it cost
// them.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// A Scenario says how much there is to do.
type Scenario struct {
	Objects   int           // in the fleet
	Workers   int           // of the provider
	Poll      time.Duration // interval of the fleet's polls
	Quiet     int           // how many poll intervals the steady state is watched for
	Rounds    int           // how often the fleet is created and deleted
	OneServer bool          // for all, however much it has seen, instead of a new one for each turn

	Crowd   int           // objects in the storm
	Latency time.Duration // of the external system in the storm
	Probes  int           // changes by users in the storm
	Fair    time.Duration // how long users take half of the workers
}

// Full is what the figures are told of.
var Full = Scenario{
	Objects: 5000, Workers: 10, Quiet: 4, Rounds: 3,
	Crowd: 2000, Latency: 50 * time.Millisecond, Probes: 150, Fair: 50 * time.Second,
}

// Small is over soon. Its figures say that everything works, and no more. Polls are
// seldom enough for a machine that does other things: what is late by an interval, as a
// cache or a list, makes a reconciler do its work twice.
var Small = Scenario{
	Objects: 100, Workers: 4, Poll: 3 * time.Second, Quiet: 1, Rounds: 2, OneServer: true,
	Crowd: 100, Latency: 10 * time.Millisecond, Probes: 10, Fair: 6 * time.Second,
}

// A Result is what a contender did.
type Result struct {
	Contender string

	CreateRequests, NamedRequests, DeleteRequests, SteadyRequests float64         // per object; per pass
	CreateEvents                                                  float64         // per object
	Rounds                                                        []Round         // in the order in which they were
	ReadyAfter, GoneAfter                                         time.Duration   // the medians of the rounds
	ReadyTold, GoneTold                                           time.Duration   // until the last event of that is sent, in the round of the whole life
	CreateCPU, DeleteCPU                                          time.Duration   // per object
	QuietCPU, StormCPU                                            time.Duration   // per pass
	QuietCPUs                                                     []time.Duration // of each interval; QuietCPU is the median
	PassMallocs                                                   float64         // per pass, of the reconciler alone
	Mallocs                                                       float64         // per pass, of the process
	Heap                                                          float64         // bytes per object
	JSON                                                          int             // bytes of an object, as the API server sends it
	UserP50, UserP99                                              time.Duration   // of a change in a storm of polls
	PollCalls                                                     float64         // to the external system, in a poll interval, for each thousand objects
	OldestPoll                                                    float64         // in poll intervals, while users take half of the workers
	RestartWrites                                                 float64
	RestartBusiest                                                float64       // calls in the busiest second after a restart, to those that polls spread evenly make
	RestartUser                                                   time.Duration // until a user's change after a restart is served
	Requests                                                      map[string]map[string]int
}

// A Round is one creation of the fleet, and its deletion.
type Round struct {
	Place                 int // among the contenders of the round; the first is 1
	ReadyAfter, GoneAfter time.Duration
	ReadyCPU, GoneCPU     time.Duration // of the process until then, polls and all, per object
}

// Parts are what a run consists of. A life is a sprint and more, and so is the first
// round of those who do both.
var Parts = []string{"life", "named", "storm", "sprint"}

// Run measures contenders, in those parts that are named; the figures of others are
// zero. They take turns in the order given, which each round begins with another of
// them. The results are in the order of provider.Contenders.
func Run(ctx context.Context, s Scenario, contenders, parts []string, progress io.Writer) ([]Result, error) {
	b := bench{scenario: s, progress: progress}
	defer b.stop()
	results := map[string]*Result{}
	for round := range s.Rounds {
		for i, c := range turned(contenders, round) {
			due := due(parts, round)
			if len(due) == 0 {
				continue
			}
			if results[c] == nil {
				results[c] = &Result{Contender: c, Requests: map[string]map[string]int{}}
			}
			fmt.Fprintf(progress, "round %d of %d: %s, %s\n", round+1, s.Rounds, c, strings.Join(due, ", "))
			if err := b.turn(ctx, results[c], i+1, due); err != nil {
				return nil, fmt.Errorf("%s: %w", c, err)
			}
		}
	}
	var out []Result
	for _, c := range provider.Contenders {
		if r := results[c]; r != nil {
			r.ReadyAfter = Median(r.Rounds, func(r Round) time.Duration { return r.ReadyAfter })
			r.GoneAfter = Median(r.Rounds, func(r Round) time.Duration { return r.GoneAfter })
			out = append(out, *r)
		}
	}

	return out, nil
}

// Turned returns the order of a round: who was first in the one before is the last.
func turned(contenders []string, round int) []string {
	first := round % len(contenders)

	return slices.Concat(contenders[first:], contenders[:first])
}

// Due returns the parts of a round, in their order. All but sprints are for the first.
func due(parts []string, round int) (due []string) {
	for _, part := range Parts {
		sprint := round > 0 || !slices.Contains(parts, "life")
		if slices.Contains(parts, part) && (part == "sprint" && sprint || part != "sprint" && round == 0) {
			due = append(due, part)
		}
	}

	return due
}

// A bench has a server for whose turn it is.
type bench struct {
	scenario Scenario
	progress io.Writer
	world    *world
}

// Turn measures one contender in some parts. The server knows of nobody who was there
// before, unless one is for all: what it has kept of others, and what it has still to do
// for them, is not to be paid by who comes next.
func (b *bench) turn(ctx context.Context, result *Result, place int, parts []string) error {
	if !b.scenario.OneServer {
		b.stop()
	}
	if b.world == nil {
		var err error
		if b.world, err = newWorld(ctx, b.progress); err != nil {
			return err
		}
	}
	r := runner{world: b.world, scenario: b.scenario, progress: b.progress, result: result, place: place}
	for _, part := range parts {
		if err := r.run(ctx, part); err != nil {
			return err
		}
	}

	return nil
}

func (b *bench) stop() {
	if b.world != nil {
		_ = b.world.cluster.Stop() // the figures are known by then
	}
	b.world = nil
}

// A runner measures one contender in one turn.
type runner struct {
	*world

	scenario Scenario
	progress io.Writer
	result   *Result
	place    int
	sizes    int64

	meanwhile float64 // steady passes over each object while events of its creation were sent
}

func (r *runner) say(format string, a ...any) {
	fmt.Fprintf(r.progress, "  %-8s %s\n", r.result.Contender, fmt.Sprintf(format, a...))
}

// Run a part with a process of its own.
func (r *runner) run(ctx context.Context, part string) error {
	ctx, cancel := context.WithCancel(ctx) // ends who watches fleets
	defer cancel()
	c, err := spawn(ctx, r.cluster.Kubeconfig)
	if err != nil {
		return err
	}
	run := map[string]func(context.Context, *child) error{"life": r.life, "sprint": r.sprint, "named": r.named, "storm": r.storm}

	return errors.Join(run[part](ctx, c), c.end())
}
