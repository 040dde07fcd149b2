package load

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// What trails behind a change is over by then.
const settled = 3 * time.Second

// Begin starts a provider with an empty fleet, which is not created yet.
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
	if _, err := c.tell(start); err != nil {
		return nil, start, err
	}

	return f, start, r.rehearse(ctx)
}

// Life goes from the first create to the last delete.
func (r *runner) life(ctx context.Context, c *child) error {
	f, start, err := r.begin(ctx, c, "life")
	if err != nil {
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
		func() error { return r.steady(ctx, c, start.Poll) },
		func() error { return r.restart(ctx, c, f, start) },
		func() error { return r.memory(ctx, c, f, idle+weight.Heap) },
		func() error { return r.deletion(ctx, c, f) },
	} {
		if err := phase(); err != nil {
			return err
		}
	}

	return nil
}

// Sprint creates the fleet and deletes it, for the time that takes. As in a life, the
// provider is started anew in between: what it has not told of the creation yet is not
// to be paid by the deletion.
func (r *runner) sprint(ctx context.Context, c *child) error {
	f, start, err := r.begin(ctx, c, "sprint")
	if err != nil {
		return err
	}
	round := Round{Place: r.place}
	if round.ReadyAfter, round.ReadyCPU, err = f.timed(ctx, c, f.create); err != nil {
		return err
	}
	if err := c.stop(); err != nil {
		return err
	}
	if _, err := c.tell(start); err != nil {
		return err
	}
	if err := wait(ctx, settled); err != nil {
		return err
	}
	if round.GoneAfter, round.GoneCPU, err = f.timed(ctx, c, f.remove); err != nil {
		return err
	}
	r.result.Rounds = append(r.result.Rounds, round)
	r.say("%d objects are ready after %s, and gone after %s; CPU for each %s and %s", f.count,
		round.ReadyAfter.Round(time.Millisecond), round.GoneAfter.Round(time.Millisecond), round.ReadyCPU.Round(time.Microsecond), round.GoneCPU.Round(time.Microsecond))

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
	_, err = f.remove(ctx)

	return err
}

// Timed does something to the fleet. It returns how long that took, and how much of a
// processor's time the provider took for each buoy.
func (f *fleet) timed(ctx context.Context, c *child, do func(context.Context) (time.Duration, error)) (took, cpu time.Duration, err error) {
	if err := c.mark(); err != nil {
		return 0, 0, err
	}
	if took, err = do(ctx); err != nil {
		return 0, 0, err
	}
	figures, err := c.read()

	return took, figures.CPU / time.Duration(f.count), err
}

func (r *runner) creation(ctx context.Context, c *child, f *fleet) error {
	round := Round{Place: r.place}
	var err error
	if round.ReadyAfter, round.ReadyCPU, err = f.timed(ctx, c, f.create); err != nil {
		return err
	}
	r.result.Rounds = append(r.result.Rounds, round)
	ready, told, after, err := r.told(ctx, c)
	if err != nil {
		return err
	}
	n := float64(f.count)
	r.result.Requests["create"] = told.Requests
	r.result.CreateRequests, r.result.CreateEvents = float64(Sum(told.Requests))/n, float64(told.Events)/n
	r.result.CreateCPU, r.result.ReadyTold = told.CPU/time.Duration(f.count), round.ReadyAfter+after
	r.meanwhile = (looks(told) - looks(ready)) / n
	r.say("%d objects are ready after %s, and that is told after %s; %.2f requests each",
		f.count, round.ReadyAfter.Round(time.Millisecond), r.result.ReadyTold.Round(time.Millisecond), r.result.CreateRequests)

	return nil
}

// Told waits until the last event is sent of what has just ended. It returns the
// figures of the beginning and the end, and how long that took.
func (r *runner) told(ctx context.Context, c *child) (first, last provider.Figures, after time.Duration, err error) {
	if first, err = c.read(); err != nil {
		return first, last, 0, err
	}
	begun, events := time.Now(), 0
	for now := begun; now.Sub(begun) < after+settled; now = time.Now() {
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
	if err := wait(ctx, settled+poll); err != nil { // what trails behind, and until all have met who poll together
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
		r.result.QuietCPUs = append(r.result.QuietCPUs, time.Duration(float64(figures.CPU-before.CPU)/max(1, looks(figures)-looks(before))))
	}
	r.result.QuietCPU = Median(r.result.QuietCPUs, func(d time.Duration) time.Duration { return d })
	passes := looks(figures)
	r.result.Requests["steady"] = figures.Requests
	r.result.SteadyRequests = float64(Sum(figures.Requests)+figures.Events) / passes
	r.result.CreateCPU -= time.Duration(r.meanwhile * float64(r.result.QuietCPU))
	r.result.Mallocs = float64(figures.Mallocs) / passes
	r.result.PollCalls = float64(Sum(figures.Cloud.Calls)) / float64(r.scenario.Quiet) * 1000 / float64(r.scenario.Objects)
	r.say("%.0f steady passes, each %s of a processor; %.0f allocations, queue and workers included", passes, r.result.QuietCPU, r.result.Mallocs)

	return nil
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
		return !f.Cloud.Applied[size].IsZero() && Writes(f.Requests) > 0 // and its status is written
	})
	if err != nil {
		return err
	}
	r.result.Requests["restart"] = figures.Requests
	r.result.RestartWrites = float64(Sum(figures.Requests)) - 1 // the status of what was changed
	r.result.RestartUser = figures.Cloud.Applied[size].Sub(sent)
	r.result.RestartBusiest = float64(figures.Cloud.Busiest) / (float64(f.count) / start.Poll.Seconds())
	r.say("after a restart: %.0f writes, a user's change served after %s, %d calls in the busiest second",
		r.result.RestartWrites, r.result.RestartUser.Round(time.Microsecond), figures.Cloud.Busiest)

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
	round := &r.result.Rounds[len(r.result.Rounds)-1]
	if round.GoneAfter, round.GoneCPU, err = f.timed(ctx, c, f.remove); err != nil {
		return err
	}
	_, told, after, err := r.told(ctx, c)
	if err != nil {
		return err
	}
	r.result.Requests["delete"] = told.Requests
	r.result.DeleteRequests = float64(Sum(told.Requests)) / float64(f.count)
	r.result.DeleteCPU, r.result.GoneTold = told.CPU/time.Duration(f.count), round.GoneAfter+after
	r.say("all are gone after %s, and that is told after %s; %.2f requests each",
		round.GoneAfter.Round(time.Millisecond), r.result.GoneTold.Round(time.Millisecond), r.result.DeleteRequests)

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
	_, err = f.remove(ctx)

	return err
}
