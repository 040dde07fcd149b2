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

// breakThings starts the provider, lets users work, and makes the planned faults. When it returns, all
// servers run again.
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

	all.Go(func() { w.users.work(working) })

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
	switch f.kind {
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
		return errors.Errorf("unknown kind of fault %s", f.kind)
	}
}

// noReplica is the number of no replica.
const noReplica = -1

// hit ends a replica, or the other one if it does not run or is suspended. If all are just being started it
// waits for one.
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

// strike ends a replica if one runs, and reports whether it has.
func (w *world) strike(f fault) bool {
	w.mu.Lock()
	still := w.suspended
	w.mu.Unlock()

	for _, who := range []int{f.who, 1 - f.who} {
		p := w.fleet.replica(who)
		if p == nil || who == still {
			continue
		}

		if f.kind == restart {
			p.Stop(stopTimeout)
			w.happened(f.kind, "stopped %s", name(who))

			return true
		}

		if p.Kill() == nil {
			w.happened(f.kind, "killed %s", name(who))

			return true
		}
	}

	return false
}

// outage stops the API server for a while.
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
		// A server that waits for its clients to disconnect is killed in the end.
		w.say("  the API server did not start again at once: %v", err)

		if err := w.env.Cluster.Restart(ctx); err != nil {
			return err
		}
	}

	w.happened(f.kind, "started the API server again")

	return nil
}

// silence stops NATS for a while.
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

	w.happened(f.kind, "started NATS again")

	return nil
}

// pages makes the gateway answer requests by itself for a while.
func (w *world) pages(ctx context.Context, lasts time.Duration) error {
	before := w.gateway.answers.Load()

	w.gateway.wrong.Store(true)
	defer w.gateway.wrong.Store(false)

	if err := pause(ctx, lasts); err != nil {
		return err
	}

	if n := w.gateway.answers.Load() - before; n > 0 {
		w.happened(pages, "a proxy answered %d requests with pages", n)
	}

	return nil
}

// longestSuspension bounds how long a leader is suspended: the other replica sees its last renewal, waits
// for the whole lease and tries again, if there is an API server, which may take a while to stop and to
// start, on a busy machine.
const longestSuspension = 10 * time.Minute

// suspendLeader suspends the leader until another replica leads, and a while longer, so that it resumes
// without knowing. If it ended meanwhile, the next leader is suspended.
func (w *world) suspendLeader(ctx context.Context, longer time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, longestSuspension)
	defer cancel()

	for {
		if over, err := w.suspendOnce(ctx, longer); over || err != nil {
			return err
		}
	}
}

// suspendOnce suspends the leader, and reports whether another replica has taken over.
func (w *world) suspendOnce(ctx context.Context, longer time.Duration) (bool, error) {
	var p *child.Process

	leader, err := w.holder(ctx, func(who int) bool { // a replica that has just ended cannot be suspended
		p = w.fleet.replica(who)

		return p != nil && p.Suspend() == nil
	})
	if err != nil {
		return false, errors.Wrap(err, "no replica leads")
	}

	w.still(leader)
	defer w.still(noReplica)
	defer func() { _ = p.Resume() }() // it may have ended meanwhile

	w.say("  suspended %s, which leads", name(leader))

	next, err := w.holder(ctx, func(who int) bool { return who != leader || w.fleet.replica(leader) != p })
	if err != nil {
		return false, errors.Wrapf(err, "no replica takes over from %s", name(leader))
	}

	if next == leader { // the suspended one has ended, and leads again
		return false, nil
	}

	if err := pause(ctx, longer); err != nil {
		return false, err
	}

	w.happened(suspend, "%s resumes, and %s has taken over", name(leader), name(next))

	return true, nil
}

// still records which replica is suspended.
func (w *world) still(who int) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.suspended = who
}

// holder waits until a wanted replica holds the lease, and returns it.
func (w *world) holder(ctx context.Context, wanted func(who int) bool) (int, error) {
	var last error

	for {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: devenv.Namespace, Name: provider.Name + "." + v1alpha1.Group}

		if last = w.env.Client.Get(ctx, key, lease); last == nil {
			last = errors.New("no wanted replica holds the lease")

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

// happened counts a fault, and reports it.
func (w *world) happened(t faultKind, format string, args ...any) {
	w.mu.Lock()
	w.made[t]++
	w.mu.Unlock()

	w.say("  "+format, args...)
}
