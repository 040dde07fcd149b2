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

// Lease is a lock for leader election that knows until when its holder is certainly the only leader. Wrap the lock
// that the manager gets:
//
//	lease := controller.NewLease(lock, renewDeadline)
//	ctrl.NewManager(config, ctrl.Options{
//		LeaderElection: true, LeaderElectionResourceLockInterface: lease, RenewDeadline: &renewDeadline, ...
//	})
//
// Pass [Lease.Deadline] to the reconcilers. A process that was suspended for longer than its lease then makes no
// changes when it resumes.
//
// The lease passes its resourceVersion to a [RestoreDetector] at each renewal by the leader, and at each read by a
// waiting process. After a detected restore of the API server the deadline counts as passed, because the caches hold
// a state that was reverted. The lease is then neither renewed nor released, so that waiting processes detect the
// restore, too. So the process ends at its renew deadline, even if the detector was not added to the manager. Another
// process becomes the leader when the lease has expired.
//
// A Lease may be used concurrently.
type Lease struct {
	resourcelock.Interface

	renewDeadline time.Duration
	clock         clock.PassiveClock
	restores      *RestoreDetector

	mu       sync.Mutex
	deadline time.Time
	holder   string // see Holder
}

// expired is the deadline of a process that no longer holds the lease.
var expired = time.Unix(0, 0)

// LeaseOption configures a Lease.
type LeaseOption func(*Lease)

// WithLeaseClock sets the clock. The default is the system clock. Deadlines use its monotonic reading.
func WithLeaseClock(c clock.PassiveClock) LeaseOption {
	return func(l *Lease) { l.clock = c }
}

// WithRestoreDetector sets the detector that gets the resource versions of the lease. Add the detector to the
// manager, so that the process ends as soon as it detects a restore. By default the lease has its own detector, which
// does not log.
func WithRestoreDetector(d *RestoreDetector) LeaseOption {
	return func(l *Lease) { l.restores = d }
}

// NewLease wraps a lock. The argument renewDeadline must be the renew deadline of the manager, by default ten seconds.
// A renew deadline is shorter than the duration of the lease. The lease knows resource versions only if the lock is a
// [resourcelock.LeaseLock], which NewLease copies.
func NewLease(lock resourcelock.Interface, renewDeadline time.Duration, o ...LeaseOption) *Lease {
	l := &Lease{renewDeadline: renewDeadline, clock: clock.RealClock{}}
	for _, option := range o {
		option(l)
	}
	if l.restores == nil {
		l.restores = NewRestoreDetector()
	}
	l.Interface = observeVersions(lock, l.restores)

	return l
}

// Deadline returns until when this process may act as the leader. The deadline is the start of the last successful
// renewal plus the renew deadline. Deadline returns a time in the past, never the zero time, in these cases: before the
// first renewal, after a detected restore, and after [Lease.Get] has read that this process does not hold the lease.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline.IsZero() || l.restores.Restored() != nil {
		return expired
	}

	return l.deadline
}

// Holder returns the identity of the process that holds the lease, as this process has last read or written it. It
// sends no request. The identity is empty if no process holds the lease, or if the lease was not read yet. It equals
// Identity if this process is the holder. A process that waits for the lease reads it at each retry period.
func (l *Lease) Holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.holder
}

func (l *Lease) noteHolder(identity string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.holder = identity
}

// Get returns the record of the lock. A leader calls Get when a renewal fails. If Get finds no lease, or a lease that
// this process does not hold, another client has deleted or changed the lease. The deadline then counts as passed until
// this process acquires the lease again.
func (l *Lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	deadline := l.currentDeadline()
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.noteHolder(record.HolderIdentity)
	}
	switch {
	case err == nil && record.HolderIdentity != l.Identity():
		l.expire(deadline)
	case err != nil && gone.Answered(err, path.Base(l.Describe())): // a LeaseLock is described by namespace/name
		l.expire(deadline)
	}

	return record, raw, err
}

func (l *Lease) currentDeadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.deadline
}

// expire ends the deadline, unless the lease was renewed since. The deadline stays set,
// because checkRestored distinguishes it from one that was released.
func (l *Lease) expire(deadline time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !deadline.IsZero() && l.deadline.Equal(deadline) {
		l.deadline = expired
	}
}

// Create creates the record of the lock. It returns ErrRestored after a restore.
func (l *Lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update updates the record of the lock. It returns ErrRestored after a restore.
func (l *Lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.Interface.Update(ctx, r) })
}

func (l *Lease) renew(r resourcelock.LeaderElectionRecord, write func() error) error {
	if err := l.checkRestored(); err != nil {
		return err
	}
	begun := l.clock.Now()
	if err := write(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder = r.HolderIdentity
	if r.HolderIdentity == l.Identity() {
		l.deadline = begun.Add(l.renewDeadline)
	} else {
		l.deadline = time.Time{} // released
	}

	return nil
}

// checkRestored returns an error if this process held the lease when a restore was
// detected. It must then neither renew nor release the lease: waiting processes have to
// read the lower version before the lease expires. A process that did not hold the lease
// may acquire it, and then ends by losing it.
func (l *Lease) checkRestored() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline.IsZero() {
		return nil
	}

	return l.restores.Restored()
}
