package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// A Lease is the lock of a leader election that knows until when its holder
// surely is the only one. Wrap the lock that the manager is given:
//
//	lease := controller.NewLease(lock, renewDeadline)
//	ctrl.NewManager(config, ctrl.Options{
//		LeaderElection: true, LeaderElectionResourceLockInterface: lease, RenewDeadline: &renewDeadline, ...
//	})
//
// and give [Lease.Deadline] to the reconcilers, so that a process which was
// paused for longer than its lease changes nothing when it goes on. It may be
// used concurrently.
type Lease struct {
	resourcelock.Interface

	renewDeadline time.Duration
	clock         clock.PassiveClock

	mu       sync.Mutex
	deadline time.Time
}

// A LeaseOption changes a Lease.
type LeaseOption func(*Lease)

// WithLeaseClock sets the clock. The default is the system's, whose readings
// are compared by what cannot be set.
func WithLeaseClock(c clock.PassiveClock) LeaseOption {
	return func(l *Lease) { l.clock = c }
}

// NewLease wraps a lock. The deadline for its renewal has to be that of the
// manager (ten seconds by its default), and is less than the duration of the
// lease.
func NewLease(lock resourcelock.Interface, renewDeadline time.Duration, o ...LeaseOption) *Lease {
	l := &Lease{Interface: lock, renewDeadline: renewDeadline, clock: clock.RealClock{}}
	for _, option := range o {
		option(l)
	}

	return l
}

// Deadline returns until when this process may act as the leader: the deadline
// for the renewal, counted from before its last successful one. Before the first
// one it is a time that has passed; it is never the zero time.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline.IsZero() {
		return time.Unix(0, 0)
	}

	return l.deadline
}

// Create creates the record of the lock.
func (l *Lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update changes the record of the lock.
func (l *Lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.Interface.Update(ctx, r) })
}

func (l *Lease) renew(r resourcelock.LeaderElectionRecord, write func() error) error {
	begun := l.clock.Now()
	if err := write(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.HolderIdentity == l.Identity() {
		l.deadline = begun.Add(l.renewDeadline)
	} else {
		l.deadline = time.Time{} // it was given up
	}

	return nil
}
