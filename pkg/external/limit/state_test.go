package limit

import (
	"context"
	"errors"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestStateMessage: a State has the text of the last error that explains its reason, as
// the Message of the request returns it, and none when the connection is available.
func TestStateMessage(t *testing.T) {
	boom, bang := errors.New("boom"), errors.New("bang")
	cases := map[string]struct {
		reason  string
		answers []error
		state   string
		want    string
	}{
		"Success": {
			reason:  "there was no error",
			answers: []error{nil}, state: ReasonAvailable, want: "",
		},
		"OneObject": {
			reason:  "the error concerns one object only",
			answers: []error{boom}, state: ReasonAvailable, want: "",
		},
		"BelowThreshold": {
			reason:  "one failure does not trip the breaker",
			answers: []error{external.Unavailable(boom)}, state: ReasonAvailable, want: "",
		},
		"Unavailable": {
			reason:  "two failures do, and the message is that of the last",
			answers: []error{external.Unavailable(boom), external.Unavailable(bang)}, state: ReasonUnavailable,
			want: "shown: bang",
		},
		"Unauthorized": {
			reason:  "the credentials have to be corrected",
			answers: []error{external.Unauthorized(boom)}, state: ReasonUnauthorized, want: "shown: boom",
		},
		"Throttled": {
			reason:  "the system throttles",
			answers: []error{external.Throttled("", time.Second, boom)}, state: ReasonThrottled, want: "shown: boom",
		},
		"Deadline": {
			reason:  "a deadline has no text of the system",
			answers: []error{context.DeadlineExceeded, context.DeadlineExceeded}, state: ReasonUnavailable, want: "",
		},
		"OtherReason": {
			reason: "the text of an earlier reason is not repeated",
			answers: []error{
				external.Throttled("", time.Nanosecond, boom), context.DeadlineExceeded, context.DeadlineExceeded,
			},
			state: ReasonUnavailable, want: "",
		},
		"Recovered": {
			reason:  "the connection is available again",
			answers: []error{external.Unauthorized(boom), nil}, state: ReasonAvailable, want: "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := testclock.NewFakePassiveClock(time.Unix(0, 0))
			g := New(WithClock(c), WithBreaker(2, time.Second, time.Second))
			for _, answer := range tc.answers {
				release, err := g.Acquire(t.Context(), Request{Priority: User, Message: func(err error) string {
					text, _ := external.SharedCause(err)

					return "shown: " + text
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
