package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// Storm asks for twice as many polls as the workers can do, and then lets users
// take half of their time.
func (r *runner) storm(ctx context.Context, c *child) error {
	s := r.scenario
	f, err := r.newFleet(ctx, "storm", s.Crowd)
	if err != nil {
		return err
	}
	capacity := float64(s.Workers) / s.Latency.Seconds() // calls per second
	start := provider.Command{Do: "start", Contender: r.result.Contender, Workers: s.Workers, Poll: time.Hour}
	if _, err := c.tell(start); err != nil {
		return err
	}
	if _, err := f.create(ctx); err != nil {
		return err
	}
	passes, err := c.tell(provider.Command{Do: "passes", Count: 10 * s.Crowd}) // nothing else is done, for an hour
	if err != nil {
		return err
	}
	r.result.PassMallocs = passes.Mallocs
	r.say("%.0f allocations in a steady pass of the reconciler alone", r.result.PassMallocs)
	// With lists polls would take next to nothing, and that would be no storm.
	start.Poll = every(s.Crowd, 2*capacity)
	if err := errors.Join(c.stop(), c.cloud(s.Latency, false), r.probe(ctx, c, f, start)); err != nil {
		return err
	}
	start.Poll = every(s.Crowd, capacity/2)
	if err := errors.Join(c.stop(), c.cloud(s.Latency, true), r.fair(ctx, c, f, start, capacity/2/3)); err != nil { // a change is three calls
		return err
	}
	if err := c.cloud(0, true); err != nil {
		return err
	}
	_, err = f.remove(ctx)

	return err
}

// Every returns the interval in which so many objects make so many polls in a second.
func every(objects int, perSecond float64) time.Duration {
	return time.Duration(float64(objects) / perSecond * float64(time.Second))
}

// Probe changes objects at random moments in a storm of polls.
func (r *runner) probe(ctx context.Context, c *child, f *fleet, start provider.Command) error {
	if _, err := c.tell(start); err != nil {
		return err
	}
	if err := wait(ctx, 2*start.Poll); err != nil { // until the queue is full
		return err
	}
	if err := c.mark(); err != nil {
		return err
	}
	sent, last := map[int64]time.Time{}, map[int]int64{} // by size; the size of each object
	for range r.scenario.Probes {
		if err := wait(ctx, time.Duration(rand.ExpFloat64()*float64(150*time.Millisecond))); err != nil {
			return err
		}
		r.sizes++
		object, size := rand.IntN(f.count), 1000+r.sizes
		at, err := f.resize(ctx, object, size)
		if err != nil {
			return err
		}
		sent[size], last[object] = at, size
	}
	if err := wait(ctx, 2*start.Poll); err != nil {
		return err
	}
	figures, err := c.readWhen(ctx, "all changes in a storm are served", func(f provider.Figures) bool {
		for _, size := range last {
			if f.Cloud.Applied[size].IsZero() {
				return false
			}
		}

		return true
	})
	if err != nil {
		return err
	}
	took := waits(sent, figures.Cloud.Applied)
	r.result.UserP50, r.result.UserP99 = took[len(took)/2], took[len(took)*99/100]
	r.result.StormCPU = time.Duration(float64(figures.CPU) / looks(figures))
	r.say("a user's change in the storm: p50 %s, p99 %s", r.result.UserP50.Round(time.Millisecond), r.result.UserP99.Round(time.Millisecond))

	return nil
}

// Waits returns how long users waited, the shortest time first. What was overtaken by
// another change of the same object is not served.
func waits(sent, served map[int64]time.Time) []time.Duration {
	var took []time.Duration
	for size, at := range sent {
		if done, ok := served[size]; ok {
			took = append(took, done.Sub(at))
		}
	}
	slices.Sort(took)

	return took
}

// Fair lets users take half of the workers, and looks how old polls get.
func (r *runner) fair(ctx context.Context, c *child, f *fleet, start provider.Command, rate float64) error {
	if _, err := c.tell(start); err != nil {
		return err
	}
	if err := c.mark(); err != nil {
		return err
	}
	for end := time.Now().Add(max(r.scenario.Fair, 5*start.Poll/2)); time.Now().Before(end); {
		if err := wait(ctx, time.Duration(rand.ExpFloat64()/rate*float64(time.Second))); err != nil {
			return err
		}
		r.sizes++
		if _, err := f.resize(ctx, rand.IntN(f.count), 1000+r.sizes); err != nil {
			return err
		}
	}
	figures, err := c.read()
	if err != nil {
		return err
	}
	r.result.OldestPoll = figures.Cloud.Oldest.Seconds() / start.Poll.Seconds()
	r.say("while users take half of the workers the oldest poll is %.2f intervals old", r.result.OldestPoll)

	return nil
}
