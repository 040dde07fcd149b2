package limit

import (
	"testing"
)

// TestOptions: invalid values leave the defaults.
func TestOptions(t *testing.T) {
	g := New(WithRate(0, 1, 2), WithRate(3, 1, 2), WithMaxWait(-1), WithBreaker(0, 1, 1), WithBreaker(1, 2, 1),
		WithClock(nil), WithNotify(nil))
	want := New()
	if g.State().Rate != want.State().Rate || g.maxWait != want.maxWait || g.breaker != want.breaker ||
		g.clock != want.clock || g.notify == nil {
		t.Errorf("want invalid values to change nothing, got %+v", g)
	}
}
