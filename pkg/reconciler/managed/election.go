package managed

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// AwaitElection finds out when this process becomes the leader: a manager that is elected already was so before the reconciler
// was made, and another one starts then what it was given.
func (r *Reconciler) awaitElection(m manager.Manager) {
	if m == nil {
		return
	}
	select {
	case <-m.Elected():
		r.elected.Store(&r.made)
	default: // an error means that the manager has ended, and makes no pass
		_ = m.Add(manager.RunnableFunc(func(context.Context) error {
			r.leads()

			return nil
		}))
	}
}

// Leads notes that the process is the leader now. The first call counts. Each pass calls it: passes may begin a moment before
// the manager tells of the election, and a manager that somebody else has made may not tell.
func (r *Reconciler) leads() {
	if r.elected.Load() == nil {
		now := r.clock.Now()
		r.elected.CompareAndSwap(nil, &now)
	}
}

// ElectedAt returns when the process became the leader, or a later time: since then no other process has created anything.
func (r *Reconciler) electedAt() time.Time {
	r.leads()

	return *r.elected.Load()
}
