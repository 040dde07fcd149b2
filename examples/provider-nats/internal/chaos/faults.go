package chaos

import (
	"context"
	stderrors "errors"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/child"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// breakThings starts the provider, lets people work, and breaks everything as planned.
// When it returns, all servers run again.
func (w *world) breakThings(ctx context.Context, c course) error {
	if err := w.fleet.start(ctx, c); err != nil {
		return err
	}

	working, cancel := context.WithTimeout(ctx, w.o.Window)
	defer cancel()

	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)

	all.Go(func() { w.people.work(working) })

	for _, f := range c.faults {
		all.Go(func() {
			if pause(ctx, f.at) != nil {
				return
			}

			if err := w.happen(ctx, f); err != nil {
				mu.Lock()
				defer mu.Unlock()

				errs = append(errs, errors.Wrapf(err, "cannot make a fault (%s)", f))
			}
		})
	}

	all.Wait()

	return stderrors.Join(append(errs, ctx.Err())...)
}

// happen makes one fault, and returns when it is over.
func (w *world) happen(ctx context.Context, f fault) error {
	switch f.trouble {
	case kill, restart:
		return w.hit(ctx, f)
	case suspend:
		return w.suspendLeader(ctx, f.lasts)
	case outage:
		return w.outage(ctx, f)
	case silence:
		return w.silence(ctx, f)
	case pages:
		return w.pages(ctx, w.o.Window-f.at)
	default:
		return errors.Errorf("nobody knows how to make a %s", f.trouble)
	}
}

// nobody is no replica.
const nobody = -1

// hit ends a replica, or the other one if there is no such, or if it stands still:
// it would not notice. If all are just being started it waits for one.
func (w *world) hit(ctx context.Context, f fault) error {
	for !w.strike(f) {
		if _, err := w.fleet.broken(); err != nil {
			return err
		}

		if err := pause(ctx, startAgain/4); err != nil {
			return err
		}
	}

	return nil
}

// strike ends a replica if there is one, and says whether it has.
func (w *world) strike(f fault) bool {
	w.mu.Lock()
	still := w.suspended
	w.mu.Unlock()

	for _, who := range []int{f.who, 1 - f.who} {
		p := w.fleet.replica(who)
		if p == nil || who == still {
			continue
		}

		if f.trouble == restart {
			p.Stop(stopTimeout)
			w.happened(f.trouble, "stopped %s", name(who))

			return true
		}

		if p.Kill() == nil {
			w.happened(f.trouble, "killed %s", name(who))

			return true
		}
	}

	return false
}

// outage takes the API server away for a while.
func (w *world) outage(ctx context.Context, f fault) error {
	if f.hard {
		if err := w.env.Cluster.Kill(); err != nil {
			return err
		}

		w.say("  killed the API server, for %s", f.lasts.Round(time.Millisecond))

		if err := pause(ctx, f.lasts); err != nil {
			return err
		}
	}

	if err := w.env.Cluster.Restart(ctx); err != nil {
		// A server that waits for its clients to leave is killed in the end.
		w.say("  the API server did not start again at once: %v", err)

		if err := w.env.Cluster.Restart(ctx); err != nil {
			return err
		}
	}

	w.happened(f.trouble, "started the API server again")

	return nil
}

// silence takes NATS away for a while.
func (w *world) silence(ctx context.Context, f fault) error {
	how := "stopped"
	if f.hard {
		how = "killed"
	}

	w.nats.stop(f.hard)
	w.say("  %s NATS, for %s", how, f.lasts.Round(time.Millisecond))

	if err := pause(ctx, f.lasts); err != nil {
		return err
	}

	if err := w.nats.start(ctx); err != nil {
		return err
	}

	w.happened(f.trouble, "started NATS again")

	return nil
}

// pages has the gateway answer requests by itself for a while.
func (w *world) pages(ctx context.Context, lasts time.Duration) error {
	before := w.gateway.answers.Load()

	w.gateway.wrong.Store(true)
	defer w.gateway.wrong.Store(false)

	if err := pause(ctx, lasts); err != nil {
		return err
	}

	if n := w.gateway.answers.Load() - before; n > 0 {
		w.happened(pages, "a proxy answered %d requests with pages that say nothing of objects", n)
	}

	return nil
}

// longestSuspension bounds how long a leader is suspended: the others see its last
// renewal, wait for the whole lease and try again, if there is an API server, which may
// take a while to stop and to start, on a machine that may do other things.
const longestSuspension = 10 * time.Minute

// suspendLeader suspends the replica that leads until another one does, and a while
// longer, so that it goes on without knowing. If it ended meanwhile, who leads then is
// suspended.
func (w *world) suspendLeader(ctx context.Context, longer time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, longestSuspension)
	defer cancel()

	for {
		if over, err := w.suspendOnce(ctx, longer); over || err != nil {
			return err
		}
	}
}

// suspendOnce suspends who leads, and says whether another one has taken over.
func (w *world) suspendOnce(ctx context.Context, longer time.Duration) (bool, error) {
	var p *child.Process

	leader, err := w.holder(ctx, func(who int) bool { // who has just ended is not there to be suspended
		p = w.fleet.replica(who)

		return p != nil && p.Suspend() == nil
	})
	if err != nil {
		return false, errors.Wrap(err, "nobody leads")
	}

	w.still(leader)
	defer w.still(nobody)
	defer func() { _ = p.Resume() }() // it may have ended meanwhile

	w.say("  suspended %s, which leads", name(leader))

	next, err := w.holder(ctx, func(who int) bool { return who != leader || w.fleet.replica(leader) != p })
	if err != nil {
		return false, errors.Wrapf(err, "nobody takes over from %s", name(leader))
	}

	if next == leader { // the suspended one has ended, and leads again
		return false, nil
	}

	if err := pause(ctx, longer); err != nil {
		return false, err
	}

	w.happened(suspend, "%s goes on, and %s has taken over", name(leader), name(next))

	return true, nil
}

// still notes who stands still.
func (w *world) still(who int) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.suspended = who
}

// holder waits until somebody holds the lease who is as wanted, and returns who.
func (w *world) holder(ctx context.Context, wanted func(who int) bool) (int, error) {
	var last error

	for {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: devenv.Namespace, Name: provider.Name + "." + v1alpha1.Group}

		if last = w.env.Client.Get(ctx, key, lease); last == nil {
			last = errors.New("it is held by nobody else")

			if id := lease.Spec.HolderIdentity; id != nil {
				for who := range 2 {
					if strings.HasPrefix(*id, name(who)+"_") && wanted(who) {
						return who, nil
					}
				}
			}
		}

		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return 0, last
		}
	}
}

// happened notes that a fault was made, and says how.
func (w *world) happened(t trouble, format string, args ...any) {
	w.mu.Lock()
	w.made[t]++
	w.mu.Unlock()

	w.say("  "+format, args...)
}
