package limit

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRereadAfter: one object at a time connects again within ten seconds, the others when the gate says.
func TestRereadAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New()
		expect := func(reason string, after, want time.Duration, reread bool) {
			t.Helper()
			if got, again := g.RereadAfter(after); got != want || again != reread {
				t.Errorf("%s: RereadAfter(%v) = %v, %t, want %v, %t", reason, after, got, again, want, reread)
			}
		}
		expect("the first", time.Minute, 10*time.Second, true)
		expect("another object", time.Minute, time.Minute, false)
		<-time.After(10 * time.Second)
		expect("the next turn", 5*time.Second, 5*time.Second, true)
	})
}
