package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/bench/internal/provider"
)

// storm requests twice as many polls as the workers can do, while users change objects. In the first round it then
// requests half as many as they can, and users take the other half.
func (r *runner) storm(ctx context.Context, c *child) error {
	f, start, err := r.crowd(ctx, c)
	if err != nil {
		return err
	}
	passes, err := c.send(provider.Command{Do: "passes", Count: 10 * f.count}) // no poll is due for an hour
	if err != nil {
		return err
	}
	r.round.PassMallocs = passes.Mallocs
	r.say("%.0f allocations in a steady pass of the reconciler alone", passes.Mallocs)
	// With lists, polls would be almost free, and there would be no storm.
	start.Poll = every(f.count, 2*r.capacity())
	if err := errors.Join(c.stop(), c.cloud(r.scenario.Latency, false), r.probe(ctx, c, f, start)); err != nil {
		return err
	}
	if len(r.result.Rounds) == 0 {
		half := r.capacity() / 2
		start.Poll = every(f.count, half)
		// a change is three calls
		if err := errors.Join(c.stop(), c.cloud(r.scenario.Latency, true), r.fair(ctx, c, f, start, half/3)); err != nil {
			return err
		}
	}

	return r.disperse(ctx, c, f)
}

// capacity returns the calls per second that the workers can make.
func (r *runner) capacity() float64 {
	return float64(r.scenario.Workers) / r.scenario.Latency.Seconds()
}

// crowd creates many objects that are not polled yet.
func (r *runner) crowd(ctx context.Context, c *child) (*fleet, provider.Command, error) {
	start := provider.Command{Do: "start", Contender: r.result.Contender, Workers: r.scenario.Workers, Poll: time.Hour}
	f, err := r.newFleet(ctx, "storm", r.scenario.Crowd)
	if err != nil {
		return nil, start, err
	}
	if _, err := c.send(start); err != nil {
		return nil, start, err
	}
	_, err = f.create(ctx)

	return f, start, err
}

// disperse deletes a crowd, unless its server ends with the turn.
func (r *runner) disperse(ctx context.Context, c *child, f *fleet) error {
	if !r.scenario.OneServer {
		return nil
	}
	if err := c.cloud(0, true); err != nil {
		return err
	}
	_, err := f.remove(ctx)

	return err
}

// every returns the interval in which a number of objects makes a number of polls per second.
func every(objects int, perSecond float64) time.Duration {
	return time.Duration(float64(objects) / perSecond * float64(time.Second))
}

// probe changes objects at random moments in a storm of polls.
func (r *runner) probe(ctx context.Context, c *child, f *fleet, start provider.Command) error {
	if _, err := c.send(start); err != nil {
		return err
	}
	if err := wait(ctx, 2*start.Poll); err != nil { // until the queue is full
		return err
	}
	if err := c.mark(); err != nil {
		return err
	}
	var asked []change
	for range r.scenario.Probes {
		if err := wait(ctx, time.Duration(rand.ExpFloat64()*float64(100*time.Millisecond))); err != nil {
			return err
		}
		r.sizes++
		one := change{object: rand.IntN(f.count), size: 1000 + r.sizes}
		var err error
		if one.at, err = f.resize(ctx, one.object, one.size); err != nil {
			return err
		}
		asked = append(asked, one)
	}
	figures, err := c.readWhen(ctx, "all changes in a storm are served", func(f provider.Figures) bool {
		return len(latencies(asked, f.Cloud.Applied)) == len(asked)
	})
	if err != nil {
		return err
	}
	r.round.Latencies = latencies(asked, figures.Cloud.Applied)
	r.round.UserP50, r.round.UserP99 = percentile(r.round.Latencies, 50), percentile(r.round.Latencies, 99)
	r.round.StormCPU = time.Duration(float64(figures.CPU) / looks(figures))
	r.say("a user's change in the storm: p50 %s, p99 %s; %s of a processor for each pass",
		r.round.UserP50.Round(time.Millisecond), r.round.UserP99.Round(time.Millisecond), r.round.StormCPU)

	return nil
}

// A change is the request of a user. Each size is requested once per object.
type change struct {
	object int
	size   int64
	at     time.Time
}

// latencies returns how long users waited, the shortest time first: until the external system had the requested size,
// or a later requested one of the same object. Pending changes are left out.
func latencies(asked []change, served map[int64]time.Time) []time.Duration {
	var took []time.Duration
	first := map[int]time.Time{} // when the earliest later request of an object was applied
	for _, c := range slices.Backward(asked) {
		if at, ok := served[c.size]; ok && (first[c.object].IsZero() || at.Before(first[c.object])) {
			first[c.object] = at
		}
		if at := first[c.object]; !at.IsZero() {
			took = append(took, at.Sub(c.at))
		}
	}
	slices.Sort(took)

	return took
}

// fair lets users take half of the workers, and measures how old polls get.
func (r *runner) fair(ctx context.Context, c *child, f *fleet, start provider.Command, rate float64) error {
	if _, err := c.send(start); err != nil {
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
