package load

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// events creates and deletes some objects, and waits each time until the last event about it is sent: events are rate
// limited. There are no polls meanwhile.
func (r *runner) events(ctx context.Context, c *child) error {
	f, err := r.newFleet(ctx, "events", r.scenario.Events)
	if err != nil {
		return err
	}
	if _, err := c.send(provider.Command{Do: "start", Contender: r.result.Contender, Poll: time.Hour,
		Workers: r.scenario.Workers}); err != nil {
		return err
	}
	if err := r.rehearse(ctx); err != nil {
		return err
	}
	res, n := r.result, float64(f.count)
	ready, took, err := r.untilLastEvent(ctx, c, f.create)
	if err != nil {
		return err
	}
	res.CreateEvents, res.CreateCalls, res.CreateCPU, res.ReadyEventsAfter = float64(ready.Events)/n,
		float64(Sum(ready.Cloud.Calls))/n, ready.CPU/time.Duration(f.count), took
	gone, took, err := r.untilLastEvent(ctx, c, f.remove)
	if err != nil {
		return err
	}
	res.DeleteEvents, res.DeleteCalls, res.DeleteCPU, res.GoneEventsAfter = float64(gone.Events)/n,
		float64(Sum(gone.Cloud.Calls))/n, gone.CPU/time.Duration(f.count), took
	r.say(
		"%d objects: last event about ready after %s, about gone after %s; %.2f and %.2f events each, %.2f and %.2f "+
			"external calls",
		f.count, res.ReadyEventsAfter.Round(time.Millisecond), res.GoneEventsAfter.Round(time.Millisecond), res.CreateEvents,
		res.DeleteEvents, res.CreateCalls, res.DeleteCalls)

	return nil
}

// untilLastEvent runs an operation on a fleet and waits until the last event about it is sent. It returns the figures
// at the end, and how long that took.
func (r *runner) untilLastEvent(ctx context.Context, c *child,
	do func(context.Context) (time.Duration, error)) (last provider.Figures, took time.Duration, err error) {
	if err := c.mark(); err != nil {
		return last, 0, err
	}
	begun := time.Now()
	if took, err = do(ctx); err != nil {
		return last, 0, err
	}
	if last, err = c.read(); err != nil {
		return last, 0, err
	}
	events := last.Events
	for now := time.Now(); now.Sub(begun) < took+settled; now = time.Now() {
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return last, 0, err
		}
		if last, err = c.read(); err != nil {
			return last, 0, err
		}
		if last.Events > events {
			took = time.Since(begun)
		}
		events = last.Events
	}

	return last, took, nil
}
