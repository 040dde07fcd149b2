package limit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReservationsShareByNamespace: the objects of a small namespace do not wait for all
// those of a big one.
func TestReservationsShareByNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithMaxWait(0))
		through(t, g, nil)

		var got []string
		for i, namespace := range []string{"big", "big", "big", "small", "small", "small", "big", "big"} {
			after, _ := refused(t, g, Request{Namespace: namespace, Object: fmt.Sprint(i)})
			got = append(got, namespace+" "+after.String())
		}
		want := []string{"big 1s", "big 2s", "big 3s", "small 1s", "small 3s", "small 5s", "big 4s", "big 5.75s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	})
}

// TestHeldCallsIncreaseRate: the rate also rises if all calls are held and retried in
// time, so that none ever waits at the gate.
func TestHeldCallsIncreaseRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 2), WithMaxWait(0))
		through(t, g, nil)
		for range 10 {
			after, _ := refused(t, g, Request{Priority: User})
			<-time.After(after)
			through(t, g, nil)
		}
		if got := g.State().Rate; got < 1.1 {
			t.Errorf("want the rate to rise, got %v", got)
		}
	})
}

// TestForget: a forgotten object has no reservation, so that later objects get earlier
// slots.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithMaxWait(0))
		through(t, g, nil)
		var last time.Duration
		for i := range 10 {
			last, _ = refused(t, g, Request{Namespace: "a", Object: fmt.Sprint(i)})
		}
		g.Forget(Request{Namespace: "a", Object: "unknown"})
		g.Forget(Request{Namespace: "unknown", Object: "0"})
		for i := range 10 {
			g.Forget(Request{Namespace: "a", Object: fmt.Sprint(i)})
		}
		if got := len(g.reserved.namespaces); got != 0 {
			t.Errorf("%d namespaces have reservations of forgotten objects", got)
		}
		if next, _ := refused(t, g, Request{Namespace: "a", Object: "next"}); next >= last {
			t.Errorf("the next object may retry in %s, after the forgotten one, which would have in %s", next, last)
		}
	})
}

// TestReservationsExpire: objects whose call was held and that never retry are forgotten,
// and so are unused gates.
func TestReservationsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSet(WithRate(1, 1, 1), WithMaxWait(0))
		g := s.Gate("a")
		for i := range 100_000 {
			r := Request{Namespace: fmt.Sprint(i % 100), Object: fmt.Sprint(i)}
			if release, err := g.Acquire(t.Context(), r); err == nil {
				release(nil)
			}
		}
		if got := len(g.reserved.namespaces); got != 100 {
			t.Errorf("want reservations of a hundred namespaces, got %d: nothing is tested", got)
		}
		<-time.After(2 * reservationTTL)
		through(t, g, nil)
		if got := len(g.reserved.namespaces); got != 0 {
			t.Errorf("%d namespaces have expired reservations", got)
		}

		for i := range 1000 {
			s.Gate(fmt.Sprint(i))
		}
		<-time.After(2 * idleTimeout)
		s.Gate("b")
		if got := len(s.States()); got != 1 {
			t.Errorf("%d gates are left, want only the one in use", got)
		}
	})
}

// TestEarlyRetryKeepsSlot: objects that retry before their slot do not delay other
// objects.
func TestEarlyRetryKeepsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithMaxWait(0))
		through(t, g, nil)
		const n = 20
		for range 50 { // users may retry as soon as any call may
			for i := range n {
				_, _ = g.Acquire(t.Context(), Request{Object: fmt.Sprint(i), Priority: User})
			}
		}
		if after, _ := refused(t, g, Request{Object: "poll"}); after > (n+2)*time.Second {
			t.Errorf("a poll may retry after %s, with %d objects before it and a call each second", after, n)
		}
		first, _ := refused(t, g, Request{Object: "late"})
		<-time.After(time.Second / 2)
		if again, _ := refused(t, g, Request{Object: "late"}); again != first-time.Second/2 {
			t.Errorf("a retry first after %s, and half a second later after %s", first, again)
		}
	})
}
