package deadline

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestClockSetBack verifies that an expired context stays expired after the clock is set back, which is the same as
// a later deadline.
func TestClockSetBack(t *testing.T) {
	ctx, cancel := At(t.Context(), now().Add(-time.Second))
	defer cancel()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the time is up, and it is over for %v", err)
	}
	ctx.(*lazy).at = now().Add(time.Hour)
	for range 2 {
		if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it was over, and now is so for %v", err)
		}
		select {
		case <-ctx.Done():
		default:
			t.Error("it was over, and now goes on")
		}
	}
}
