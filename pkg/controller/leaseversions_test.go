package controller_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	coordination "k8s.io/api/coordination/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const renewDeadline = 10 * time.Second

var leaseResource = coordination.SchemeGroupVersion.WithResource("leases").GroupResource()

// TestLeaseDetectsRestore: a restore ends each process that knows a higher version, once, and
// nothing else does.
func TestLeaseDetectsRestore(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(s *leaseServer)
		prefix  string
		ends    bool
		reason  string
	}{
		"Nothing":     {func(*leaseServer) {}, "", false, "renewals let versions grow"},
		"OthersWrite": {func(s *leaseServer) { s.last += 5000 }, "", false, "other objects let versions grow"},
		"Conflict": {func(s *leaseServer) { s.touch() }, "", false,
			"who renews reads it again, in a higher version"},
		"DeletedAndCreatedAnew": {func(s *leaseServer) { s.lease = nil }, "", false,
			"an object that was created anew has a higher version, whatever its UID"},
		"Outage":        {func(s *leaseServer) { s.failing = 3 }, "", false, "an error is no version"},
		"RestoredToNow": {func(s *leaseServer) { s.restore(s.snapshot()) }, "", false, "nothing was lost"},
		"Restored": {func(s *leaseServer) { s.restore(s.early) }, "", true,
			"the lease is read in an older version"},
		"RestoredAndBusy": {func(s *leaseServer) { s.restore(s.early); s.last += 5000 }, "", true,
			"the lease itself was not written since"},
		"RestoredToBefore": {func(s *leaseServer) { s.restore(snapshot{last: 3}) }, "", true,
			"the lease is created in an older version"},
		"CannotBeCompared": {func(s *leaseServer) { s.restore(s.early) }, "rev-", false, "such versions say nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leaseServer{last: 100, prefix: tc.prefix}
				leader := s.run(t, "leader", true)
				<-time.After(5 * time.Second)
				standby := s.run(t, "standby", true)
				<-time.After(5 * time.Second)
				s.do(func(s *leaseServer) { s.early = s.snapshot() })
				<-time.After(time.Minute)
				if leader.ended() || standby.ended() {
					t.Fatalf("before anything happens: %v, %v", leader.err, standby.err)
				}

				s.do(tc.happens)
				<-time.After(20 * time.Second)
				synctest.Wait()
				for _, r := range []*replica{leader, standby} {
					if got := r.restored(); got != tc.ends {
						t.Errorf("%s ends for a restore: %t (%v), want %t: %s", r.name, got, r.err, tc.ends, tc.reason)
					}
				}
				if tc.ends && leader.lease.Deadline().After(time.Now()) {
					t.Error("the deadline of the leader has not passed")
				}

				// The next processes have seen no other versions.
				next, waiting := s.run(t, "next", true), s.run(t, "waiting", true)
				<-time.After(time.Minute)
				if next.ended() || waiting.ended() {
					t.Errorf("the next processes end: %v, %v", next.err, waiting.err)
				}
				leaders := 0
				for _, r := range []*replica{leader, standby, next, waiting} {
					if r.leads() {
						leaders++
					}
				}
				if leaders != 1 {
					t.Errorf("%d replicas lead", leaders)
				}
			})
		})
	}
}

// TestLeaseLostAfterRestore: a process whose manager has no detector ends by losing its
// lease, even if it acquires it later.
func TestLeaseLostAfterRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{last: 100}
		leader := s.run(t, "leader", false)
		<-time.After(5 * time.Second)
		standby := s.run(t, "standby", false)
		<-time.After(5 * time.Second)
		s.do(func(s *leaseServer) { s.early = s.snapshot() })
		<-time.After(time.Minute)
		s.do(func(s *leaseServer) { s.restore(s.early) })
		<-time.After(3 * time.Second)
		if leader.lease.Deadline().After(time.Now()) {
			t.Error("the deadline of the leader has not passed")
		}
		<-time.After(2 * time.Minute)
		for _, r := range []*replica{leader, standby} {
			if !r.ended() {
				t.Errorf("%s goes on", r.name)
			}
		}
		next := s.run(t, "next", false)
		<-time.After(time.Minute)
		if next.ended() || !next.leads() {
			t.Errorf("the next process ends: %t, leads: %t", next.ended(), next.leads())
		}
	})
}

// TestLeaseResponsesOutOfOrder: a response that arrives after that of a later request has a
// lower version, which is no restore.
func TestLeaseResponsesOutOfOrder(t *testing.T) {
	s, d := &leaseServer{last: 100}, controller.NewRestoreDetector()
	lease := controller.NewLease(s.lock("me"), renewDeadline, controller.WithRestoreDetector(d))
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	if err := lease.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	s.onTheWay = func() {
		s.onTheWay = nil
		if err := lease.Update(t.Context(), mine); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := lease.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Restored(); err != nil {
		t.Error(err)
	}
	s.restore(snapshot{last: 50, lease: s.lease})
	s.lease.ResourceVersion = "50"
	if _, _, err := lease.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Restored() == nil {
		t.Error("a restore was not detected")
	}
}

// replica is a process that takes part in the leader election.
type replica struct {
	name  string
	lease *controller.Lease
	done  chan struct{}
	err   error
}

func (r *replica) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *replica) restored() bool { return r.ended() && errors.Is(r.err, controller.ErrRestored) }

func (r *replica) leads() bool { return !r.ended() && r.lease.Deadline().After(time.Now()) }

// run runs a replica until it or the test ends. As a manager, it ends with the error of a
// runnable, or when it loses the lease.
func (s *leaseServer) run(t *testing.T, name string, ends bool) *replica {
	t.Helper()
	d := controller.NewRestoreDetector()
	r := &replica{name: name, done: make(chan struct{})}
	r.lease = controller.NewLease(s.lock(name), renewDeadline, controller.WithRestoreDetector(d))
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: r.lease, LeaseDuration: 15 * time.Second, RenewDeadline: renewDeadline, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	var added sync.WaitGroup
	if ends {
		added.Go(func() {
			r.err = d.Start(ctx)
			cancel()
		})
	}
	go func() {
		defer close(r.done)
		defer added.Wait()
		defer cancel()
		elector.Run(ctx)
	}()

	return r
}

// leaseServer is an API server with one Lease. Its version grows with each write, and is
// lower after a restore.
type leaseServer struct {
	coordinationv1.LeaseInterface

	mu       sync.Mutex
	last     int
	lease    *coordination.Lease
	prefix   string // of versions
	failing  int    // requests
	onTheWay func() // called before a response arrives
	early    snapshot
}

// do calls a function between two requests.
func (s *leaseServer) do(what func(*leaseServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(s)
}

type snapshot struct {
	last  int
	lease *coordination.Lease
}

func (s *leaseServer) snapshot() snapshot   { return snapshot{s.last, s.lease.DeepCopy()} }
func (s *leaseServer) restore(old snapshot) { s.last, s.lease = old.last, old.lease.DeepCopy() }
func (s *leaseServer) touch()               { s.lease.ResourceVersion = s.next() }

func (s *leaseServer) next() string {
	s.last++

	return s.prefix + strconv.Itoa(s.last)
}

func (s *leaseServer) lock(identity string) resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease"}, Client: s,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
}

func (s *leaseServer) Leases(string) coordinationv1.LeaseInterface { return s }

func (s *leaseServer) request(serve func() error) (*coordination.Lease, error) {
	s.mu.Lock()
	if s.failing > 0 {
		s.failing--
		s.mu.Unlock()

		return nil, errors.New("no answer")
	}
	err, out, onTheWay := serve(), s.lease.DeepCopy(), s.onTheWay
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if onTheWay != nil {
		onTheWay()
	}

	return out, nil
}

func (s *leaseServer) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordination.Lease, error) {
	return s.request(func() error {
		if s.lease == nil {
			return kerrors.NewNotFound(leaseResource, name)
		}

		return nil
	})
}

func (s *leaseServer) Create(_ context.Context, l *coordination.Lease,
	_ metav1.CreateOptions) (*coordination.Lease, error) {
	return s.request(func() error {
		if s.lease != nil {
			return kerrors.NewAlreadyExists(leaseResource, l.Name)
		}
		s.lease = l.DeepCopy()
		s.touch()
		s.lease.UID = types.UID(fmt.Sprint("uid-", s.last))

		return nil
	})
}

func (s *leaseServer) Update(_ context.Context, l *coordination.Lease,
	_ metav1.UpdateOptions) (*coordination.Lease, error) {
	return s.request(func() error {
		switch {
		case s.lease == nil:
			return kerrors.NewNotFound(leaseResource, l.Name)
		case s.lease.UID != l.UID || s.lease.ResourceVersion != l.ResourceVersion:
			return kerrors.NewConflict(leaseResource, l.Name, errors.New("it was changed"))
		}
		s.lease = l.DeepCopy()
		s.touch()

		return nil
	})
}
