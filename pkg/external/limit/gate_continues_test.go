package limit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestContinues: a call that continues a pass does not wait for a token but uses one. It
// is held during a Retry-After and while the system is down.
func TestContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(1, 1, 1), WithMaxWait(0))
		through(t, g, nil)
		for range 3 {
			release, err := g.Acquire(t.Context(), Request{Object: "a", Continues: true})
			if err != nil {
				t.Fatalf("want the call to continue, got %v", err)
			}
			release(nil)
		}
		if after, _ := refused(t, g, Request{Object: "b", Priority: User}); after != 4*time.Second {
			t.Errorf("the next call is let through after %s, want four seconds: one for each call made", after)
		}
		<-time.After(10 * time.Second)
		through(t, g, external.Throttled("", time.Minute, errBoom))
		if after, _ := refused(t, g, Request{Object: "a", Continues: true}); after < 59*time.Second {
			t.Errorf("the call may continue after %s, want a minute", after)
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
