package managed

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// awaitElection records when this process becomes the leader. If the manager is already elected, the time at which
// the reconciler was made counts. Otherwise the manager starts a runnable when it is elected. Without an election,
// the time of the first reconcile counts.
func (r *Reconciler) awaitElection(m manager.Manager) {
	elected, known := electionOf(m)
	if !known {
		return
	}
	select {
	case <-elected:
		r.elected.Store(&r.createdAt)
	default: // an error means that the manager has ended, and reconciles nothing
		_ = m.Add(manager.RunnableFunc(func(context.Context) error {
			r.noteElected()

			return nil
		}))
	}
}

// electionOf returns the channel that a manager closes when it is elected. A nil manager has none. A fake manager
// that embeds a nil manager and implements only some methods has none either.
func electionOf(m manager.Manager) (elected <-chan struct{}, known bool) {
	if m == nil {
		return nil, false
	}
	defer func() {
		if recover() != nil {
			known = false
		}
	}()

	return m.Elected(), true
}

// electedAt returns when the process became the leader, or a later time. Since then no other process has created
// anything.
func (r *Reconciler) electedAt() time.Time {
	r.noteElected()

	return *r.elected.Load()
}

// noteElected records that the process is the leader now. The first call counts. Each pass calls it: passes may
// begin shortly before the manager reports the election, and a custom manager may not report it.
func (r *Reconciler) noteElected() {
	if r.elected.Load() == nil {
		now := r.clock.Now()
		r.elected.CompareAndSwap(nil, &now)
	}
}
