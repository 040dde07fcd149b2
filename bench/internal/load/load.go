// Package load puts load on providers, one after the other, and measures what it costs them.
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

// A Scenario is the amount of work.
type Scenario struct {
	Objects   int           // in the fleet
	Workers   int           // of the provider
	Poll      time.Duration // interval of the fleet's polls
	Quiet     int           // poll intervals of the steady state, in each round
	Rounds    int           // repetitions of the parts with figures that are compared with the floor
	Events    int           // number of objects in the part that waits for all events
	OneServer bool          // one server for all, instead of a new one for each turn

	Crowd   int           // objects in the storm
	Latency time.Duration // of the external system in the storm
	Probes  int           // changes by users in the storm
	Fair    time.Duration // how long users take half of the workers
}

// Full is the scenario of the published figures.
var Full = Scenario{
	Objects: 5000, Workers: 10, Quiet: 8, Rounds: 3, Events: 250,
	Crowd: 2000, Latency: 50 * time.Millisecond, Probes: 150, Fair: 50 * time.Second,
}

// Small is a short scenario. Its figures show that everything works, and no more. Polls are rare enough for a busy
// machine: an interval late in a cache or a list makes a reconciler repeat work.
var Small = Scenario{
	Objects: 100, Workers: 4, Poll: 3 * time.Second, Quiet: 1, Rounds: 1, Events: 20, OneServer: true,
	Crowd: 100, Latency: 10 * time.Millisecond, Probes: 10, Fair: 6 * time.Second,
}

// A Result has the figures of a contender. Figures that are compared with the floor are the median of the rounds;
// figures with a bound of their own are the maximum.
type Result struct {
	Contender string
	Measured

	NamedRequests                     float64                   // per object
	CreateEvents, DeleteEvents        float64                   // per object
	CreateCalls, DeleteCalls          float64                   // to the external system, per object
	ReadyEventsAfter, GoneEventsAfter time.Duration             // until the last event about it is sent
	CreateCPU, DeleteCPU              time.Duration             // of the provider until then, per object
	OldestPoll                        float64                   // in poll intervals, while users take half of the workers
	Requests                          map[string]map[string]int // by phase, verb and resource
	Rounds                            []Round                   // in the order in which they were
}

// Parts are the parts of a run, in their order. The storm leaves its objects behind, so it is the last.
var Parts = []string{"life", "named", "events", "storm"}

// repeated are the parts of each round: they have figures with a bound relative to the floor.
var repeated = []string{"life", "storm"}

// Run measures contenders in the named parts; the figures of other parts are zero. Contenders take turns in the given
// order, and each round begins with the next one. The results are in the order of provider.Contenders.
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
			r.conclude()
			out = append(out, *r)
		}
	}

	return out, nil
}

// turned returns the order of a round: the first of the previous round is the last.
func turned(contenders []string, round int) []string {
	first := round % len(contenders)

	return slices.Concat(contenders[first:], contenders[:first])
}

// due returns the parts of a round, in their order.
func due(parts []string, round int) (due []string) {
	for _, part := range Parts {
		if slices.Contains(parts, part) && (round == 0 || slices.Contains(repeated, part)) {
			due = append(due, part)
		}
	}

	return due
}

// A bench has a server for the contender that is measured.
type bench struct {
	scenario Scenario
	progress io.Writer
	world    *world
}

// turn measures one contender in some parts. Each turn has a new server, unless one is for all: old data and pending
// work of other contenders must not count.
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
	r := runner{world: b.world, scenario: b.scenario, progress: b.progress, result: result}
	r.round.Place = place
	for _, part := range parts {
		if err := r.run(ctx, part); err != nil {
			return err
		}
	}
	result.Rounds = append(result.Rounds, r.round)

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
	round    Round
	sizes    int64
}

func (r *runner) say(format string, a ...any) {
	fmt.Fprintf(r.progress, "  %-8s %s\n", r.result.Contender, fmt.Sprintf(format, a...))
}

// run runs a part with a process of its own.
func (r *runner) run(ctx context.Context, part string) error {
	ctx, cancel := context.WithCancel(ctx) // ends the watches of fleets
	defer cancel()
	c, err := spawn(ctx, r.cluster.Kubeconfig)
	if err != nil {
		return err
	}
	run := map[string]func(context.Context, *child) error{"life": r.life, "storm": r.storm, "named": r.named,
		"events": r.events}

	return errors.Join(run[part](ctx, c), c.end())
}
