package load

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// news lets some objects come and go, and waits each time until the last event of it is
// sent: good news is sent slowly. There are no polls meanwhile.
func (r *runner) news(ctx context.Context, c *child) error {
	f, err := r.newFleet(ctx, "news", r.scenario.News)
	if err != nil {
		return err
	}
	if _, err := c.tell(provider.Command{Do: "start", Contender: r.result.Contender, Poll: time.Hour, Workers: r.scenario.Workers}); err != nil {
		return err
	}
	if err := r.rehearse(ctx); err != nil {
		return err
	}
	res, n := r.result, float64(f.count)
	ready, took, err := r.told(ctx, c, f.create)
	if err != nil {
		return err
	}
	res.CreateEvents, res.CreateCalls, res.CreateCPU, res.ReadyTold = float64(ready.Events)/n, float64(Sum(ready.Cloud.Calls))/n, ready.CPU/time.Duration(f.count), took
	gone, took, err := r.told(ctx, c, f.remove)
	if err != nil {
		return err
	}
	res.DeleteEvents, res.DeleteCalls, res.DeleteCPU, res.GoneTold = float64(gone.Events)/n, float64(Sum(gone.Cloud.Calls))/n, gone.CPU/time.Duration(f.count), took
	r.say("%d objects: that they are ready is told after %s, and that they are gone after %s; %.2f and %.2f events each, %.2f and %.2f external calls",
		f.count, res.ReadyTold.Round(time.Millisecond), res.GoneTold.Round(time.Millisecond), res.CreateEvents, res.DeleteEvents, res.CreateCalls, res.DeleteCalls)

	return nil
}

// told does something to a fleet, and waits until the last event of it is sent. It returns
// the figures of the end, and how long that took.
func (r *runner) told(ctx context.Context, c *child, do func(context.Context) (time.Duration, error)) (last provider.Figures, took time.Duration, err error) {
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
