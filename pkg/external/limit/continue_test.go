package limit

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
)

// A call that goes on with what was begun need not wait for a turn; it counts all the
// same, and nobody goes on while the system wants to be left alone.
func TestContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithPatience(0))
		through(t, g, nil)
		for range 3 {
			release, err := g.Acquire(t.Context(), Request{Object: "a", Continues: true})
			if err != nil {
				t.Fatalf("want to go on, got %v", err)
			}
			release(nil)
		}
		if after, _ := refused(t, g, Request{Object: "b", Class: User}); after != 4*time.Second {
			t.Errorf("the next call is let through after %s, want four seconds: one for each call made", after)
		}
		<-time.After(10 * time.Second)
		through(t, g, external.Throttled("", time.Minute, errBoom))
		if after, _ := refused(t, g, Request{Object: "a", Continues: true}); after < 59*time.Second {
			t.Errorf("to go on after %s, want a minute", after)
		}
		<-time.After(2 * time.Minute)
		for range 5 {
			through(t, g, nil)
			<-time.After(2 * time.Second)
		}
		through(t, g, external.Unauthorized(errBoom))
		_, _ = refused(t, g, Request{Object: "a", Continues: true})
	})
}

// Who asks again before the time does not push the others, nor those who come later,
// ever further away.
func TestTimesDoNotRunAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithPatience(0))
		through(t, g, nil)
		const n = 20
		for range 50 { // users are told to come back as soon as anybody may
			for i := range n {
				_, _ = g.Acquire(t.Context(), Request{Object: fmt.Sprint(i), Class: User})
			}
		}
		if after, _ := refused(t, g, Request{Object: "poll"}); after > (n+2)*time.Second {
			t.Errorf("a poll is told to come back after %s, with %d before it and a call each second", after, n)
		}
		first, _ := refused(t, g, Request{Object: "late"})
		<-time.After(time.Second / 2)
		if again, _ := refused(t, g, Request{Object: "late"}); again != first-time.Second/2 {
			t.Errorf("first told to come back after %s, and half a second later after %s", first, again)
		}
	})
}

// Other credentials are tried at once, and the same ones no sooner.
func TestRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		s := NewSet(WithNotify(func(s State) { told = append(told, "first "+s.Reason) }))
		stop := s.Listen(func(s State) { told = append(told, "second "+s.Reason) })
		through(t, s.GateOf("a", "1"), external.Unauthorized(errBoom))
		_, _ = refused(t, s.GateOf("a", "1"), Request{Class: User})
		stop()
		through(t, s.GateOf("a", "2"), external.Unauthorized(errBoom))
		_, _ = refused(t, s.GateOf("a", "2"), Request{Class: User})
		through(t, s.GateOf("a", "3"), nil)
		refusedAgain := s.GateOf("a", "3")
		through(t, refusedAgain, nil)
		want := fmt.Sprint([]string{"first Unauthorized", "second Unauthorized", "first Available"})
		if got := fmt.Sprint(told); got != want {
			t.Errorf("told %v, want %v", got, want)
		}
		if state, ok := s.State("a"); !ok || !state.Open() || state.Calls != 4 {
			t.Errorf("state %+v, known %t", state, ok)
		}
		if _, ok := s.State("b"); ok {
			t.Error("there is a state of a connection that nobody has used")
		}
	})
}

// Who waits while others go ahead again and again is told to come back, rather than
// to keep a worker.
func TestNobodyWaitsForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithPatience(time.Second))
		through(t, g, nil)
		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			_, err := g.Acquire(t.Context(), Request{Object: "poll"})
			if _, ok := external.AsRetryAfter(err); !ok || !IsHeld(err) {
				t.Errorf("want to be told when to come back, got %v", err)
			}
			if waited := time.Since(begun); waited != 3*time.Second {
				t.Errorf("a poll waited %s, want three times what was said", waited)
			}
		})
		for range 8 {
			synctest.Wait()
			through(t, g, nil) // goes first, a second later
		}
		all.Wait()
	})
}
