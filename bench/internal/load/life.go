package load

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// settled is the time after which the late effects of a change are over.
const settled = 3 * time.Second

// begin starts a provider with an empty fleet that is not created yet.
func (r *runner) begin(ctx context.Context, c *child, name string) (*fleet, provider.Command, error) {
	n := r.scenario.Objects
	poll := r.scenario.Poll
	if poll == 0 {
		poll = max(time.Second, time.Duration(n)*2*time.Millisecond) // 500 polls a second
	}
	start := provider.Command{Do: "start", Contender: r.result.Contender, Poll: poll, Workers: r.scenario.Workers}
	f, err := r.newFleet(ctx, name, n)
	if err != nil {
		return nil, start, err
	}
	if _, err := c.send(start); err != nil {
		return nil, start, err
	}

	return f, start, r.rehearse(ctx)
}

// life measures from the first create to the last delete.
func (r *runner) life(ctx context.Context, c *child) error {
	f, start, err := r.begin(ctx, c, "life")
	if err != nil {
		return err
	}
	weight, err := c.send(provider.Command{Do: "weigh", Count: f.count})
	if err != nil {
		return err
	}
	idle, err := c.heap()
	if err != nil {
		return err
	}
	for _, phase := range []func() error{
		func() error { return r.creation(ctx, c, f) },
		// Pending events of the creation end with the manager, so that they do not count below.
		func() error { return r.restart(ctx, c, f, start) },
		func() error { return r.steady(ctx, c, start.Poll) },
		func() error { return r.memory(ctx, c, f, idle+weight.Heap) },
		func() error { return r.deletion(ctx, c, f) },
	} {
		if err := phase(); err != nil {
			return err
		}
	}

	return nil
}

// rehearse creates and deletes one object, so that one-time work of a process is done.
func (r *runner) rehearse(ctx context.Context) error {
	f, err := r.newFleet(ctx, "rehearsal", 1)
	if err != nil {
		return err
	}
	if _, err := f.create(ctx); err != nil {
		return err
	}
	_, err = f.remove(ctx)

	return err
}

// A cost is what one operation on all of the fleet took.
type cost struct {
	time             time.Duration
	provider, server time.Duration // CPU time per widget
	events           float64       // sent until the end, per widget
	requests         map[string]int
}

// timed runs an operation on the fleet. It returns its cost and its requests, including those of its late effects.
func (f *fleet) timed(ctx context.Context, c *child, do func(context.Context) (time.Duration, error)) (took cost,
	err error) {
	before, err := f.cpu(ctx)
	if err != nil {
		return took, err
	}
	if err := c.mark(); err != nil {
		return took, err
	}
	if took.time, err = do(ctx); err != nil {
		return took, err
	}
	figures, err := c.read()
	if err != nil {
		return took, err
	}
	after, err := f.cpu(ctx)
	if err != nil {
		return took, err
	}
	n := time.Duration(f.count)
	took.provider, took.server, took.events = figures.CPU/n, (after-before)/n, float64(figures.Events)/float64(f.count)
	if err := wait(ctx, settled); err != nil {
		return took, err
	}
	figures, err = c.read()
	took.requests = figures.Requests

	return took, err
}

func (r *runner) creation(ctx context.Context, c *child, f *fleet) error {
	took, err := f.timed(ctx, c, f.create)
	if err != nil {
		return err
	}
	r.round.ReadyAfter, r.round.ReadyCPU, r.round.ReadyServer, r.round.ReadyEvents = took.time, took.provider, took.server,
		took.events
	r.round.CreateRequests = float64(Sum(took.requests)) / float64(f.count)
	r.result.note("create", took.requests)
	r.say(
		"%d objects are ready after %s; for each %.2f requests and %.2f events, %s of a processor, and %s of the server's",
		f.count,
		took.time.Round(time.Millisecond), r.round.CreateRequests, took.events, took.provider.Round(time.Microsecond),
		took.server.Round(time.Microsecond))

	return nil
}

func (r *runner) deletion(ctx context.Context, c *child, f *fleet) error {
	took, err := f.timed(ctx, c, f.remove)
	if err != nil {
		return err
	}
	r.round.GoneAfter, r.round.GoneCPU, r.round.GoneServer, r.round.GoneEvents = took.time, took.provider, took.server,
		took.events
	r.round.DeleteRequests = float64(Sum(took.requests)) / float64(f.count)
	r.result.note("delete", took.requests)
	r.say("all are gone after %s; for each %.2f requests and %.2f events, %s of a processor, and %s of the server's",
		took.time.Round(time.Millisecond), r.round.DeleteRequests, took.events, took.provider.Round(time.Microsecond),
		took.server.Round(time.Microsecond))

	return nil
}

// steady measures the steady state, in which each object has been observed since the process began.
func (r *runner) steady(ctx context.Context, c *child, poll time.Duration) error {
	if err := wait(ctx, settled); err != nil {
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
		r.round.QuietCPUs = append(r.round.QuietCPUs,
			time.Duration(float64(figures.CPU-before.CPU)/max(1, looks(figures)-looks(before))))
	}
	r.round.QuietCPU = median(r.round.QuietCPUs)
	passes := looks(figures)
	r.result.note("steady", figures.Requests)
	r.round.SteadyRequests = float64(Sum(figures.Requests)+figures.Events) / passes
	r.round.Mallocs = float64(figures.Mallocs) / passes
	r.round.PollCalls = float64(Sum(figures.Cloud.Calls)) * 1000 / passes
	r.say("%.0f steady passes, each %s of a processor; %.0f allocations, queue and workers included", passes,
		r.round.QuietCPU, r.round.Mallocs)

	return nil
}

// restart measures a start with a new cache and an empty queue, and a user's change at that moment.
func (r *runner) restart(ctx context.Context, c *child, f *fleet, start provider.Command) error {
	if err := c.stop(); err != nil {
		return err
	}
	if err := c.mark(); err != nil {
		return err
	}
	if _, err := c.send(start); err != nil { // the answer comes when the cache is synced
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
		return !f.Cloud.Applied[size].IsZero() && Writes(f.Requests) > 0 // and its status is written
	})
	if err != nil {
		return err
	}
	r.result.note("restart", figures.Requests)
	r.round.RestartWrites = float64(Sum(figures.Requests)) - 1 // the status of what was changed
	r.round.RestartUser = figures.Cloud.Applied[size].Sub(sent)
	r.round.RestartBusiest = float64(figures.Cloud.Busiest) / (float64(f.count) / start.Poll.Seconds())
	r.say("after a restart: %.0f writes, a user's change served after %s, %d calls in the busiest second",
		r.round.RestartWrites, r.round.RestartUser.Round(time.Microsecond), figures.Cloud.Busiest)

	return nil
}

// memory measures what a process keeps per healthy object.
func (r *runner) memory(ctx context.Context, c *child, f *fleet, without uint64) error {
	full, err := c.heap()
	if err != nil {
		return err
	}
	r.round.Heap = (float64(full) - float64(without)) / float64(f.count)
	if r.round.JSON, r.round.Kept, err = f.weight(ctx); err != nil {
		return err
	}
	r.say("%.0f bytes for each object of %.0f bytes of JSON, %.0f without managed fields", r.round.Heap, r.round.JSON,
		r.round.Kept)

	return nil
}

// named creates widgets whose external names users choose.
func (r *runner) named(ctx context.Context, c *child) error {
	f, err := r.newFleet(ctx, "named", min(200, r.scenario.Objects))
	if err != nil {
		return err
	}
	if _, err := c.send(provider.Command{Do: "start", Contender: r.result.Contender, Poll: time.Minute,
		Workers: r.scenario.Workers, Named: true}); err != nil {
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
	r.result.note("named", figures.Requests)
	r.result.NamedRequests = float64(Sum(figures.Requests)) / float64(f.count)
	_, err = f.remove(ctx)

	return err
}
