package limit

import (
	"context"
	"errors"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestMessage: a state says what the system said last of why it is so, in the words of
// whoever called, and nothing when all is well.
func TestMessage(t *testing.T) {
	boom, bang := errors.New("boom"), errors.New("bang")
	cases := map[string]struct {
		reason  string
		answers []error
		state   string
		want    string
	}{
		"Well":         {"nothing is wrong", []error{nil}, ReasonAvailable, ""},
		"OfOneObject":  {"it is nobody else's business", []error{boom}, ReasonAvailable, ""},
		"NotYet":       {"one failure is not believed", []error{external.Unavailable(boom)}, ReasonAvailable, ""},
		"Down":         {"two are, and the last is told", []error{external.Unavailable(boom), external.Unavailable(bang)}, ReasonUnavailable, "told bang"},
		"Unauthorized": {"somebody has to correct it", []error{external.Unauthorized(boom)}, ReasonUnauthorized, "told boom"},
		"Throttled":    {"somebody asks too much", []error{external.Throttled("", time.Second, boom)}, ReasonThrottled, "told boom"},
		"Mute":         {"a deadline says nothing", []error{context.DeadlineExceeded, context.DeadlineExceeded}, ReasonUnavailable, ""},
		"Old":          {"what was said of something else is not repeated", []error{external.Throttled("", time.Nanosecond, boom), context.DeadlineExceeded, context.DeadlineExceeded}, ReasonUnavailable, ""},
		"Over":         {"it is well again", []error{external.Unauthorized(boom), nil}, ReasonAvailable, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := testclock.NewFakePassiveClock(time.Unix(0, 0))
			g := New(WithClock(c), WithBreaker(2, time.Second, time.Second))
			for _, answer := range tc.answers {
				release, err := g.Acquire(t.Context(), Request{Class: User, Tell: func(err error) string {
					text, _ := external.SharedCause(err)

					return "told " + text
				}})
				if err != nil {
					t.Fatal(err)
				}
				release(answer)
				c.SetTime(c.Now().Add(time.Second))
			}
			if s := g.State(); s.Reason != tc.state || s.Message != tc.want {
				t.Errorf("%s: state %s, %q, want %s, %q", tc.reason, s.Reason, s.Message, tc.state, tc.want)
			}
		})
	}
}
