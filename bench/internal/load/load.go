// Package load puts load on providers, one after the other, and tells what it cost
// them.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// A Scenario says how much there is to do.
type Scenario struct {
	Objects int           // in the fleet
	Workers int           // of the provider
	Poll    time.Duration // interval of the fleet's polls
	Quiet   int           // how many poll intervals the steady state is watched for

	Crowd   int           // objects in the storm
	Latency time.Duration // of the external system in the storm
	Probes  int           // changes by users in the storm
	Fair    time.Duration // how long users take half of the workers
}

// Full is what the figures are told of.
var Full = Scenario{Objects: 5000, Workers: 10, Quiet: 4, Crowd: 2000, Latency: 50 * time.Millisecond, Probes: 150, Fair: time.Minute}

// Small is over soon. Its figures say that everything works, and no more. Polls are
// seldom enough for a machine that does other things: what is late by an interval, as a
// cache or a list, makes a reconciler do its work twice.
var Small = Scenario{
	Objects: 100, Workers: 4, Poll: 3 * time.Second, Quiet: 1,
	Crowd: 100, Latency: 10 * time.Millisecond, Probes: 10, Fair: 6 * time.Second,
}

// A Result is what a contender did.
type Result struct {
	Contender string

	CreateRequests, NamedRequests, DeleteRequests, SteadyRequests float64 // per object; per pass
	CreateEvents                                                  float64 // per object
	ReadyAfter, GoneAfter                                         time.Duration
	ReadyTold, GoneTold                                           time.Duration // until the last event of that is sent
	CreateCPU, DeleteCPU                                          time.Duration // per object
	QuietCPU, StormCPU                                            time.Duration // per pass
	PassMallocs                                                   float64       // per pass, of the reconciler alone
	Mallocs                                                       float64       // per pass, of the process
	Heap                                                          float64       // bytes per object
	JSON                                                          int           // bytes of an object, as the API server sends it
	UserP50, UserP99                                              time.Duration // of a change in a storm of polls
	PollCalls                                                     float64       // to the external system, in a poll interval, for each thousand objects
	OldestPoll                                                    float64       // in poll intervals, while users take half of the workers
	RestartWrites                                                 float64
	RestartBusiest                                                float64       // calls in the busiest second after a restart, to those that polls spread evenly make
	RestartUser                                                   time.Duration // until a user's change after a restart is served
	Requests                                                      map[string]map[string]int
}

// Parts are what a run consists of.
var Parts = []string{"life", "named", "storm"}

// Run measures each contender, in those parts that are named; the figures of others
// are zero.
func Run(ctx context.Context, s Scenario, contenders, parts []string, progress io.Writer) ([]Result, error) {
	w, err := newWorld(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.cluster.Stop() }() // the figures are known by then
	var out []Result
	for _, c := range contenders {
		r := runner{world: w, scenario: s, progress: progress, result: Result{Contender: c, Requests: map[string]map[string]int{}}}
		if err := r.run(ctx, parts); err != nil {
			return out, fmt.Errorf("%s: %w", c, err)
		}
		out = append(out, r.result)
	}

	return out, nil
}

type runner struct {
	*world

	scenario Scenario
	progress io.Writer
	result   Result
	sizes    int64

	meanwhile float64 // steady passes over each object while events of its creation were sent
}

func (r *runner) say(format string, a ...any) {
	fmt.Fprintf(r.progress, "  %-8s %s\n", r.result.Contender, fmt.Sprintf(format, a...))
}

func (r *runner) run(ctx context.Context, parts []string) error {
	if err := r.tidy(ctx); err != nil {
		return err
	}
	run := map[string]func(context.Context, *child) error{"life": r.life, "named": r.named, "storm": r.storm}
	for _, part := range Parts {
		if !slices.Contains(parts, part) {
			continue
		}
		c, err := spawn(r.cluster.Kubeconfig)
		if err != nil {
			return err
		}
		if err := errors.Join(run[part](ctx, c), c.end()); err != nil {
			return err
		}
	}

	return nil
}

// Life goes from the first create to the last delete.
func (r *runner) life(ctx context.Context, c *child) error {
	n := r.scenario.Objects
	f, err := r.newFleet(ctx, "life", n)
	if err != nil {
		return err
	}
	poll := r.scenario.Poll
	if poll == 0 {
		poll = max(time.Second, time.Duration(n)*2*time.Millisecond) // 500 polls a second
	}
	start := provider.Command{Do: "start", Contender: r.result.Contender, Poll: poll, Workers: r.scenario.Workers}
	if _, err := c.tell(start); err != nil {
		return err
	}
	if err := r.rehearse(ctx); err != nil {
		return err
	}
	weight, err := c.tell(provider.Command{Do: "weigh", Count: f.count})
	if err != nil {
		return err
	}
	idle, err := c.heap()
	if err != nil {
		return err
	}
	for _, phase := range []func() error{
		func() error { return r.creation(ctx, c, f) },
		func() error { return r.steady(ctx, c, poll) },
		func() error { return r.restart(ctx, c, f, start) },
		func() error { return r.memory(ctx, c, f, idle+weight.Heap) },
		func() error { return r.deletion(ctx, c, f) },
		func() error { return f.dropNamespace(ctx, f.ns) },
	} {
		if err := phase(); err != nil {
			return err
		}
	}

	return nil
}

// Rehearse lets one object come and go, so that whatever a process makes once is made.
func (r *runner) rehearse(ctx context.Context) error {
	f, err := r.newFleet(ctx, "rehearsal", 1)
	if err != nil {
		return err
	}
	if _, err := f.create(ctx); err != nil {
		return err
	}
	if _, err := f.remove(ctx); err != nil {
		return err
	}

	return f.dropNamespace(ctx, f.ns)
}

func (r *runner) creation(ctx context.Context, c *child, f *fleet) error {
	if err := c.mark(); err != nil {
		return err
	}
	var err error
	if r.result.ReadyAfter, err = f.create(ctx); err != nil {
		return err
	}
	ready, told, after, err := r.told(ctx, c)
	if err != nil {
		return err
	}
	n := float64(f.count)
	r.result.Requests["create"] = told.Requests
	r.result.CreateRequests, r.result.CreateEvents = float64(Sum(told.Requests))/n, float64(told.Events)/n
	r.result.CreateCPU, r.result.ReadyTold = told.CPU/time.Duration(f.count), r.result.ReadyAfter+after
	r.meanwhile = (looks(told) - looks(ready)) / n
	r.say("%d objects are ready after %s, and that is told after %s; %.2f requests each",
		f.count, r.result.ReadyAfter.Round(time.Millisecond), r.result.ReadyTold.Round(time.Millisecond), r.result.CreateRequests)

	return nil
}

// Told waits until the last event is sent of what has just ended. It returns the
// figures of the beginning and the end, and how long that took.
func (r *runner) told(ctx context.Context, c *child) (first, last provider.Figures, after time.Duration, err error) {
	const silence = 3 * time.Second
	if first, err = c.read(); err != nil {
		return first, last, 0, err
	}
	begun, events := time.Now(), 0
	for now := begun; now.Sub(begun) < after+silence; now = time.Now() {
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return first, last, 0, err
		}
		if last, err = c.read(); err != nil {
			return first, last, 0, err
		}
		if last.Events > max(events, first.Events) {
			after = time.Since(begun)
		}
		events = last.Events
	}

	return first, last, after, nil
}

// Steady watches what is done when nothing is to be done.
func (r *runner) steady(ctx context.Context, c *child, poll time.Duration) error {
	if err := wait(ctx, 3*time.Second+poll); err != nil { // what trails behind, and until all have met who poll together
		return err
	}
	if err := c.mark(); err != nil {
		return err
	}
	var figures provider.Figures
	for range r.scenario.Quiet {
		before := figures
		if err := wait(ctx, poll); err != nil {
			return err
		}
		var err error
		if figures, err = c.read(); err != nil {
			return err
		}
		// Whatever else the machine does can only add to what the least is.
		perPass := time.Duration(float64(figures.CPU-before.CPU) / max(1, looks(figures)-looks(before)))
		if least := r.result.QuietCPU; least == 0 || perPass < least {
			r.result.QuietCPU = perPass
		}
	}
	passes := looks(figures)
	r.result.Requests["steady"] = figures.Requests
	r.result.SteadyRequests = float64(Sum(figures.Requests)+figures.Events) / passes
	r.result.CreateCPU -= time.Duration(r.meanwhile * float64(r.result.QuietCPU))
	r.result.Mallocs = float64(figures.Mallocs) / passes
	r.result.PollCalls = float64(Sum(figures.Cloud.Calls)) / float64(r.scenario.Quiet) * 1000 / float64(r.scenario.Objects)
	r.say("%.0f steady passes, %s and %.0f allocations each", passes, r.result.QuietCPU, r.result.Mallocs)

	return nil
}

func looks(f provider.Figures) float64 {
	return max(1, float64(f.Cloud.Calls["Find"]+f.Cloud.Served))
}

// Restart begins with a new cache and an empty queue, and with a user who does not
// wait.
func (r *runner) restart(ctx context.Context, c *child, f *fleet, start provider.Command) error {
	if err := c.stop(); err != nil {
		return err
	}
	if err := c.mark(); err != nil {
		return err
	}
	if _, err := c.tell(start); err != nil { // answers when the cache is filled
		return err
	}
	r.sizes++
	size := 1000 + r.sizes
	sent, err := f.resize(ctx, rand.IntN(f.count), size)
	if err != nil {
		return err
	}
	if err := wait(ctx, start.Poll); err != nil {
		return err
	}
	figures, err := c.readWhen(ctx, "a user's change after a restart is served", func(f provider.Figures) bool {
		return !f.Cloud.Applied[size].IsZero() && len(f.Requests) > 0 // and its status is written
	})
	if err != nil {
		return err
	}
	r.result.Requests["restart"] = figures.Requests
	r.result.RestartWrites = float64(Sum(figures.Requests)) - 1 // the status of what was changed
	r.result.RestartUser = figures.Cloud.Applied[size].Sub(sent)
	r.result.RestartBusiest = float64(figures.Cloud.Busiest) / (float64(f.count) / start.Poll.Seconds())
	r.say("after a restart: %.0f writes, a user's change served after %s, %d calls in the busiest second", r.result.RestartWrites, r.result.RestartUser.Round(time.Millisecond), figures.Cloud.Busiest)

	return nil
}

// Memory weighs what a process keeps of objects with which all is well.
func (r *runner) memory(ctx context.Context, c *child, f *fleet, without uint64) error {
	full, err := c.heap()
	if err != nil {
		return err
	}
	r.result.Heap = (float64(full) - float64(without)) / float64(f.count)
	if r.result.JSON, err = f.weight(ctx); err != nil {
		return err
	}
	r.say("%.0f bytes for each object of %d bytes of JSON", r.result.Heap, r.result.JSON)

	return nil
}

func (r *runner) deletion(ctx context.Context, c *child, f *fleet) (err error) {
	if err := c.mark(); err != nil {
		return err
	}
	if r.result.GoneAfter, err = f.remove(ctx); err != nil {
		return err
	}
	_, told, after, err := r.told(ctx, c)
	if err != nil {
		return err
	}
	r.result.Requests["delete"] = told.Requests
	r.result.DeleteRequests = float64(Sum(told.Requests)) / float64(f.count)
	r.result.DeleteCPU, r.result.GoneTold = told.CPU/time.Duration(f.count), r.result.GoneAfter+after
	r.say("all are gone after %s, and that is told after %s; %.2f requests each",
		r.result.GoneAfter.Round(time.Millisecond), r.result.GoneTold.Round(time.Millisecond), r.result.DeleteRequests)

	return nil
}

// Named creates some buoys whose names users choose.
func (r *runner) named(ctx context.Context, c *child) error {
	f, err := r.newFleet(ctx, "named", min(200, r.scenario.Objects))
	if err != nil {
		return err
	}
	if _, err := c.tell(provider.Command{Do: "start", Contender: r.result.Contender, Poll: time.Minute, Workers: r.scenario.Workers, Named: true}); err != nil {
		return err
	}
	if err := c.mark(); err != nil {
		return err
	}
	if _, err := f.create(ctx); err != nil {
		return err
	}
	figures, err := c.read()
	if err != nil {
		return err
	}
	r.result.Requests["named"] = figures.Requests
	r.result.NamedRequests = float64(Sum(figures.Requests)) / float64(f.count)
	if _, err := f.remove(ctx); err != nil {
		return err
	}

	return f.dropNamespace(ctx, f.ns)
}

// Sum returns how many requests there were.
func Sum(of map[string]int) int {
	n := 0
	for _, m := range of {
		n += m
	}

	return n
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
