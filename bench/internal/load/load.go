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
	Quiet     int           // how many poll intervals the steady state is watched for, in each round
	Rounds    int           // how often everything is measured that has a bound to the floor
	News      int           // of how many objects all events are waited for
	OneServer bool          // for all, however much it has seen, instead of a new one for each turn

	Crowd   int           // objects in the storm
	Latency time.Duration // of the external system in the storm
	Probes  int           // changes by users in the storm
	Fair    time.Duration // how long users take half of the workers
}

// Full is what the figures are told of.
var Full = Scenario{
	Objects: 5000, Workers: 10, Quiet: 8, Rounds: 3, News: 250,
	Crowd: 2000, Latency: 50 * time.Millisecond, Probes: 150, Fair: 50 * time.Second,
}

// Small is over soon. Its figures say that everything works, and no more. Polls are
// seldom enough for a machine that does other things: what is late by an interval, as a
// cache or a list, makes a reconciler do its work twice.
var Small = Scenario{
	Objects: 100, Workers: 4, Poll: 3 * time.Second, Quiet: 1, Rounds: 1, News: 20, OneServer: true,
	Crowd: 100, Latency: 10 * time.Millisecond, Probes: 10, Fair: 6 * time.Second,
}

// A Result is what a contender did. What is compared with the floor is the median of the
// rounds, and what is held to a number is the most of them.
type Result struct {
	Contender string
	Measured

	NamedRequests              float64                   // per object
	CreateEvents, DeleteEvents float64                   // per object
	CreateCalls, DeleteCalls   float64                   // to the external system, per object
	ReadyTold, GoneTold        time.Duration             // until the last event of that is sent
	CreateCPU, DeleteCPU       time.Duration             // of the provider until then, per object
	OldestPoll                 float64                   // in poll intervals, while users take half of the workers
	Requests                   map[string]map[string]int // by phase, verb and resource
	Rounds                     []Round                   // in the order in which they were
}

// Parts are what a run consists of, in their order. The storm leaves its objects where they
// are, so it is the last.
var Parts = []string{"life", "named", "news", "storm"}

// Those with what is compared with the floor and has a bound are in each round.
var repeated = []string{"life", "storm"}

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
			r.conclude()
			out = append(out, *r)
		}
	}

	return out, nil
}

// turned returns the order of a round: who was first in the one before is the last.
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

// A bench has a server for whose turn it is.
type bench struct {
	scenario Scenario
	progress io.Writer
	world    *world
}

// turn measures one contender in some parts. The server knows of nobody who was there
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
	ctx, cancel := context.WithCancel(ctx) // ends who watches fleets
	defer cancel()
	c, err := spawn(ctx, r.cluster.Kubeconfig)
	if err != nil {
		return err
	}
	run := map[string]func(context.Context, *child) error{"life": r.life, "storm": r.storm, "named": r.named, "news": r.news}

	return errors.Join(run[part](ctx, c), c.end())
}
