package managed

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ableClient can do all that a client may be able to.
type ableClient struct {
	*sought
	*pagedList
	namedSystem

	closed *[]string
}

func (c ableClient) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	return c.sought.Observe(ctx, mg)
}
func (c ableClient) Create(context.Context, resource.Managed) error { return nil }
func (c ableClient) Update(context.Context, resource.Managed) error { return nil }
func (c ableClient) Delete(context.Context, resource.Managed) error { return nil }
func (c ableClient) DescribeConnection() Connection                 { return Connection{Name: "c", Revision: "1"} }

func (c ableClient) Disconnect(context.Context) error {
	*c.closed = append(*c.closed, "client")

	return nil
}

// TestWhatAClientCanDo verifies that optional interfaces are detected on Connect, also of a wrapped client; lists
// only if enabled. The client is disconnected before its connecter.
func TestWhatAClientCanDo(t *testing.T) {
	for name, bulk := range map[string]bool{"lists are wanted": true, "or not": false} {
		var closed []string
		able := ableClient{&sought{}, &pagedList{}, namedSystem{name: "blue"}, &closed}
		p := passOf(bearing(nil), &objectState{})
		p.r.bulk, p.r.telemetry = bulk, p.r.newTelemetry()
		p.r.connecter = ExternalConnectDisconnecterFns{DisconnectFn: func(context.Context) error {
			closed = append(closed, "connecter")

			return nil
		}}
		p.inspect(&able)
		if (p.lister != nil) != bulk || p.recoverer == nil || p.backend == nil || p.system != "blue" ||
			p.connection.Name != "c" || p.connection.Revision != "1" {
			t.Errorf("%s: %+v, %v, %v, %q, %+v", name, p.lister, p.recoverer, p.backend, p.system, p.connection)
		}
		if failed := p.disconnect(t.Context()); failed != "" || len(closed) != 2 || closed[0] != "client" {
			t.Errorf("%s: disconnected %q, and %q failed", name, closed, failed)
		}
	}
	p := passOf(bearing(nil), &objectState{})
	p.r.connecter = NewNopDisconnecter(&NopConnecter{})
	if p.inspect(&NopClient{}); p.lister != nil || p.recoverer != nil || p.backend != nil || len(p.disconnects) > 0 {
		t.Errorf("a client that can do nothing besides: %+v", p)
	}
}

// TestLeaveIsWaitedForInTime verifies that a token is waited for no longer than calls may be made; but a call with
// a deadline of its own still gets one.
func TestLeaveIsWaitedForInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := passOf(bearing(nil), &objectState{})
		p.gate = gates.New(gates.WithRate(0.5, 0.5, 0.5), gates.WithMaxWait(5*time.Second))
		ask := func(left time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			defer cancel()
			begun := time.Now()
			release, err := p.waitForPermit(ctx, false)
			if err == nil {
				release(nil)
			}

			return time.Since(begun), err
		}
		if took, err := ask(persistTimeout - time.Second); err != nil || took > 0 {
			t.Errorf("after the time of calls, leave is given after %s: %v", took, err)
		}
		refused := 0
		for range 4 {
			took, err := ask(persistTimeout + time.Second/2)
			if took > time.Second/2 {
				t.Errorf("half a second is left for calls, and leave is waited for %s: %v", took, err)
			}
			if err != nil {
				refused++
			}
		}
		if refused == 0 {
			t.Error("all that was asked for is allowed")
		}
	})
}

// TestWhatIsLeftOfALeaseAtAnyTimeOfDay verifies that the remaining lease is exact to the nanosecond at any time, by
// the wall clock if the deadline has no monotonic reading.
func TestWhatIsLeftOfALeaseAtAnyTimeOfDay(t *testing.T) {
	for _, now := range []time.Time{noon, noon.Add(20 * time.Minute), noon.Add(40 * time.Minute),
		noon.Add(59*time.Minute + 59*time.Second)} {
		for _, want := range []time.Duration{-time.Hour, -1, 0, 1, time.Second, 2 * time.Hour} {
			p := passOf(bearing(nil), &objectState{}, WithClock(testclock.NewFakePassiveClock(now)),
				WithLeaseDeadline(func() time.Time { return now.Add(want) }))
			if left, limited, err := p.leaseLeft(); left != want || !limited || err != nil {
				t.Errorf("at %s, %s before the deadline: %s is left, limited is %t, error %v", now, want, left,
					limited, err)
			}
		}
	}
}

// TestNothingIsLeftOfNoLease verifies that the remaining time without a lease is unlimited.
func TestNothingIsLeftOfNoLease(t *testing.T) {
	for name, o := range map[string]ReconcilerOption{
		"none":        func(*Reconciler) {},
		"without end": WithLeaseDeadline(func() time.Time { return time.Time{} }),
	} {
		if left, limited, err := passOf(bearing(nil), &objectState{}, o).leaseLeft(); left != 0 || limited ||
			err != nil {
			t.Errorf("%s: %s is left, limited is %t", name, left, limited)
		}
	}
	p := passOf(bearing(nil), &objectState{}, WithLeaseDeadline(func() time.Time { return noon.Add(time.Hour) }))
	ctx, end, _ := p.underLease(t.Context())
	if end(); ctx.Err() == nil {
		t.Error("what was made under a lease goes on after its end")
	}
}

// TestWhyNothingMayBeChanged verifies that a shutdown is reported before a restore, and that before the end of the
// lease, whose deadline is not read any more.
func TestWhyNothingMayBeChanged(t *testing.T) {
	d := controller.NewRestoreDetector()
	d.Seen(schema.GroupKind{Kind: "K"}, "10", "9")
	p := passOf(bearing(nil), &objectState{}, WithRestoreDetector(d),
		WithLeaseDeadline(func() time.Time { return noon }))
	if err := p.checkFence(t.Context()); !errors.Is(err, controller.ErrRestored) || !errors.Is(err, errFenced) {
		t.Errorf("after a restore, under a lease that is over: %v", err)
	}
	p.r.lease = func() time.Time { t.Error("the lease is asked for after a restore"); return noon }
	if err := p.checkFence(t.Context()); !errors.Is(err, controller.ErrRestored) {
		t.Errorf("after a restore: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := p.checkFence(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, controller.ErrRestored) ||
		!errors.Is(err, errFenced) {
		t.Errorf("in a process that stops: %v", err)
	}
}
