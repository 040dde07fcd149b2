package managed

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestACallEndsWithItsRenewedLease verifies that a call continues as long as its lease is renewed, and is canceled
// when the lease is found to be over: an expired lease is checked every second.
func TestACallEndsWithItsRenewedLease(t *testing.T) {
	for name, tc := range map[string]struct {
		renewed, lasts time.Duration
		again          func() // what it does when it is asked again
	}{
		"not renewed":              {0, 10 * time.Second, nil},
		"renewed for next to none": {time.Nanosecond, 11 * time.Second, nil},
		"renewed for a minute":     {time.Minute, 70 * time.Second, nil},
		"over before it began":     {-time.Minute, 0, nil},
		"panics":                   {time.Minute, 10 * time.Second, func() { panic("a defect") }},
		"does not answer in time":  {time.Minute, 11 * time.Second, func() { <-time.After(2 * time.Second) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, asked := time.Now(), 0
			p := passOf(bearing(nil), &objectState{}, WithClock(clock.RealClock{}), WithLeaseDeadline(func() time.Time {
				if asked++; asked == 1 && tc.renewed > 0 {
					return begun.Add(10 * time.Second)
				}
				if tc.again != nil {
					tc.again()
				}

				return begun.Add(10*time.Second + tc.renewed)
			}))
			ctx, end, _ := p.underLease(t.Context())
			defer end()
			<-ctx.Done()
			if lasted := time.Since(begun); lasted != tc.lasts ||
				!errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("%s: it ended after %s: %v", name, lasted, context.Cause(ctx))
			}
			<-time.After(time.Minute) // until the lease is not read any more
		})
	}
}
