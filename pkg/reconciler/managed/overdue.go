package managed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	// How long after the timeout of its pass a call is reported: a client needs a moment after its context has ended.
	overduePatience = 30 * time.Second

	// The interval of the check for overdue calls.
	overdueInterval = 10 * time.Second
)

// A call is a call that a pass waits for.
type call struct {
	object     client.ObjectKey
	uid        types.UID
	generation int64
	what       string // the name of the function
	since      time.Time
	reported   bool
}

// calls has the calls that passes wait for at the moment. The zero value has none. It is safe for concurrent use.
type calls struct {
	mu sync.Mutex
	of map[*journal]call
}

// begin records that a pass waits for a call. It returns the enclosing call, or the zero value if there is none.
func (c *calls) begin(p *journal, what string) (outer call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[*journal]call{}
	}
	outer = c.of[p]
	c.of[p] = call{
		object: client.ObjectKeyFromObject(p.read), uid: p.read.GetUID(), generation: p.generation, what: what,
		since: p.now(),
	}

	return outer
}

// end records that the call has returned. The pass waits for the outer call again, if there is one.
func (c *calls) end(p *journal, outer call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.of, p); outer.what != "" {
		c.of[p] = outer
	}
}

// overdue returns the calls that began before the given time and are not reported yet.
func (c *calls) overdue(before time.Time) map[*journal]call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[*journal]call{}
	for p, call := range c.of {
		if call.since.Before(before) && !call.reported {
			out[p] = call
		}
	}

	return out
}

// begunBefore returns the number of calls that began before the given time and have not returned.
func (c *calls) begunBefore(before time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, call := range c.of {
		if call.since.Before(before) {
			n++
		}
	}

	return n
}

// warn records that a call was reported.
func (c *calls) warn(p *journal, reported call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[p] == reported {
		reported.reported = true
		c.of[p] = reported
	}
}

// overdue is a source that enqueues nothing. While the controller runs, it checks for calls that take longer than the
// timeout of their pass.
func (r *Reconciler) overdue() source.Source {
	return source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			look := time.Tick(overdueInterval)
			for {
				select {
				case <-ctx.Done():
					return
				case <-look:
					r.warnOverdue(ctx)
				}
			}
		}()

		return nil
	})
}

// warnOverdue reports each overdue call once, on its object. The pass itself cannot do so, because it waits for the
// call. A call that ignores its context, or has none, cannot be ended.
func (r *Reconciler) warnOverdue(ctx context.Context) {
	for p, c := range r.calls.overdue(r.clock.Now().Add(-r.timeout - overduePatience)) {
		if err := r.markOverdue(ctx, c); err != nil {
			r.log.Info("Cannot tell that a call is overdue, trying again", "object", c.object.String(), "step",
				c.what, "error", redact.Error(err))

			continue
		}
		r.calls.warn(p, c)
		r.telemetry.Overdue()
		r.log.Info("A call does not end although its context has: a worker waits for it", "object",
			c.object.String(), "step", c.what)
	}
}

// markOverdue sets the condition of an overdue call in the status of an object. It ignores an object that is gone.
func (r *Reconciler) markOverdue(ctx context.Context, c call) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	live := r.newManaged()
	err := r.cluster.GetAPIReader().Get(ctx, c.object, live)
	if gone.Answered(err, c.object.Name) || err == nil && live.GetUID() != c.uid {
		return nil
	}
	if err != nil {
		return err
	}
	p := r.objectOf(live, clone(live), (&objectState{}).acquire(r.objects.unused))
	p.generation = c.generation
	p.setCondition(unsynced(commonv1.ReasonCallOverdue, fmt.Sprintf(
		"the call %q has not returned, although a pass may take %s: the provider does not mind that its time is over; "+
			"restart the provider, one of whose workers waits until then, and report this to its author", c.what,
		r.timeout)))
	p.setKstatus(stuck)
	if p.leaseOverConcurrently(ctx) {
		err = p.notOurs()
	} else {
		err = p.putStatus(ctx)
	}
	if errors.Is(err, errReplaced) {
		return nil
	}

	return err
}
