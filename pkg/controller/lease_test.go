package controller_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestLeaseDeadline: the deadline is counted from the start of the last successful renewal.
func TestLeaseDeadline(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := testclock.NewFakePassiveClock(start)
	lock := &lock{took: func() { clock.SetTime(clock.Now().Add(3 * time.Second)) }}
	lease := controller.NewLease(lock, 10*time.Second, controller.WithLeaseClock(clock))
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}

	if got := lease.Deadline(); got.IsZero() || !got.Before(start) {
		t.Errorf("before the first renewal: %s", got)
	}
	if err := lease.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if got := lease.Deadline(); !got.Equal(start.Add(10 * time.Second)) {
		t.Errorf("after a renewal that took three seconds: %s", got.Sub(start))
	}
	lock.err = errors.New("no answer")
	if err := lease.Update(t.Context(), mine); err == nil {
		t.Error("no error")
	}
	if got := lease.Deadline(); !got.Equal(start.Add(10 * time.Second)) {
		t.Errorf("after a renewal that failed: %s", got.Sub(start))
	}
	lock.err = nil
	if err := lease.Update(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if got := lease.Deadline(); !got.Equal(start.Add(16 * time.Second)) {
		t.Errorf("after the next renewal: %s", got.Sub(start))
	}
	if err := lease.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	if got := lease.Deadline(); !got.Before(start) {
		t.Errorf("after its release: %s", got)
	}
}

type lock struct {
	resourcelock.Interface

	took func()
	err  error
}

func (l *lock) Identity() string { return "me" }

func (l *lock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	l.took()

	return l.err
}

func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, r)
}
