package controller

import (
	"context"
	"path"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/internal/gone"
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
// paused for longer than its lease changes nothing when it goes on.
//
// It also sees the version of the object behind the lock, at each renewal and each look of
// a process that waits for it, and shows it to a [RestoreDetector]. Once the API server was
// restored to an earlier state, the deadline has passed, because caches are of another
// history; and the lease is neither renewed nor given up, so that all that wait see the
// restore, too. That ends the process when the deadline for the renewal is over, even if
// the detector was not added to the manager. Another one leads when the lease is over.
//
// It may be used concurrently.
type Lease struct {
	resourcelock.Interface

	renewDeadline time.Duration
	clock         clock.PassiveClock
	restores      *RestoreDetector

	mu       sync.Mutex
	deadline time.Time
}

// Over is the deadline of a process that does not hold the lease any more.
var over = time.Unix(0, 0)

// A LeaseOption changes a Lease.
type LeaseOption func(*Lease)

// WithLeaseClock sets the clock. The default is the system's, whose readings
// are compared by what cannot be set.
func WithLeaseClock(c clock.PassiveClock) LeaseOption {
	return func(l *Lease) { l.clock = c }
}

// WithRestoreDetector sets who is shown the versions of the lease. Add it to the manager:
// then the process ends as soon as one went back. The default is a detector that logs
// nothing and belongs to the lease alone.
func WithRestoreDetector(d *RestoreDetector) LeaseOption {
	return func(l *Lease) { l.restores = d }
}

// NewLease wraps a lock. The deadline for its renewal has to be that of the
// manager (ten seconds by its default), and is less than the duration of the
// lease. Versions are seen of a [resourcelock.LeaseLock], which is copied.
func NewLease(lock resourcelock.Interface, renewDeadline time.Duration, o ...LeaseOption) *Lease {
	l := &Lease{renewDeadline: renewDeadline, clock: clock.RealClock{}}
	for _, option := range o {
		option(l)
	}
	if l.restores == nil {
		l.restores = NewRestoreDetector()
	}
	l.Interface = versioned(lock, l.restores)

	return l
}

// Deadline returns until when this process may act as the leader: the deadline
// for the renewal, counted from before its last successful one. Before the first
// one, once the API server was restored, and after [Lease.Get] has read that this process
// does not hold the lease, it is a time that has passed; it is never the zero time.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline.IsZero() || l.restores.Restored() != nil {
		return over
	}

	return l.deadline
}

// Get returns the record of the lock. If it is gone, or another holds it or nobody does, the
// deadline of this process has passed until it takes the lease again: somebody has deleted or
// changed it before its time was over. A leader reads it when a renewal fails.
func (l *Lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	before := l.held()
	record, raw, err := l.Interface.Get(ctx)
	switch {
	case err == nil && record.HolderIdentity != l.Identity():
		l.lost(before)
	case err != nil && gone.Answered(err, path.Base(l.Describe())): // a lock of a Lease describes itself by namespace/name
		l.lost(before)
	}

	return record, raw, err
}

func (l *Lease) held() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.deadline
}

// Lost ends the deadline, unless the lease was renewed since that was the deadline. It does not
// forget that there was one: refuse asks for it.
func (l *Lease) lost(deadline time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !deadline.IsZero() && l.deadline.Equal(deadline) {
		l.deadline = over
	}
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
	if err := l.refuse(); err != nil {
		return err
	}
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

// Refuse returns an error if this process held the lease when the API server was
// restored. Then it writes nothing more, not even that it gives the lease up: those who
// wait have to see the version that went back, until the lease is over. A process that did
// not hold it may still take it: if nothing else ends it, to lose the lease does.
func (l *Lease) refuse() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline.IsZero() {
		return nil
	}

	return l.restores.Restored()
}
