package external

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

func TestPollByAge(t *testing.T) {
	const poll, longest = time.Minute, time.Hour

	cases := map[string]struct {
		reason             string
		age, poll, longest time.Duration
		want               time.Duration
	}{
		"New": {
			reason: "Something new is polled as usual.", age: time.Second, poll: poll,
			longest: longest, want: poll,
		},
		"Future": {
			reason: "As is what has not begun, because clocks differ.", age: -time.Hour,
			poll: poll, longest: longest, want: poll,
		},
		"Turning": {
			reason: "From ten intervals on it is polled less.", age: 10 * poll, poll: poll,
			longest: longest, want: poll,
		},
		"Older": {
			reason: "A tenth of its age.", age: 100 * time.Minute, poll: poll, longest: longest,
			want: 10 * time.Minute,
		},
		"Old": {reason: "But not too rarely.", age: 1000 * time.Hour, poll: poll, longest: longest, want: longest},
		"Reversed": {
			reason: "Never more often than the interval.", age: 1000 * time.Hour, poll: longest,
			longest: poll, want: longest,
		},
		"NoBound": {reason: "No bound is a small one.", age: 1000 * time.Hour, poll: poll, longest: 0, want: poll},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, PollByAge(tc.age, tc.poll, tc.longest)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWaitingByAge waits for something that takes a while.
func TestWaitingByAge(t *testing.T) {
	for takes := time.Second; takes < 24*time.Hour; takes += takes / 7 {
		age := time.Duration(0)
		for age < takes {
			age += PollByAge(age, time.Second, time.Hour)
		}
		if late := age - takes; late > max(takes/10, time.Second) {
			t.Errorf("what takes %s is noticed %s late", takes, late)
		}
	}
}

func TestAdaptivePoll(t *testing.T) {
	now := time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)
	hook := AdaptivePoll(time.Hour, testclock.NewFakePassiveClock(now))
	object := func(uid int, ready ...commonv1.Condition) *fake.Managed {
		mg := &fake.Managed{}
		mg.SetUID(types.UID(fmt.Sprint(uid)))
		mg.SetConditions(ready...)

		return mg
	}
	standing := func(age time.Duration) commonv1.Condition {
		return commonv1.Condition{
			Type: commonv1.TypeReady, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}
	}

	cases := map[string]struct {
		reason string
		ready  []commonv1.Condition
		want   time.Duration
	}{
		"None": {reason: "Nothing is known of it.", want: time.Minute},
		"New": {
			reason: "It changed a moment ago.", ready: []commonv1.Condition{standing(time.Second)},
			want: time.Minute,
		},
		"Older": {
			reason: "A tenth of its age.", ready: []commonv1.Condition{standing(5 * time.Hour)},
			want: 30 * time.Minute,
		},
		"Old": {
			reason: "But not too rarely.", ready: []commonv1.Condition{standing(50 * time.Hour)},
			want: time.Hour,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var least, most, sum time.Duration
			for uid := range 1000 {
				mg := object(uid, tc.ready...)
				got := hook(mg, time.Minute)
				if again := hook(mg, time.Minute); again != got {
					t.Fatalf("%s\nthe same object got %s and then %s", tc.reason, got, again)
				}
				if uid == 0 {
					least = got
				}
				least, most, sum = min(least, got), max(most, got), sum+got
			}
			if least < tc.want-tc.want/10 || most > tc.want+tc.want/10 {
				t.Errorf("%s\nwant %s and a tenth to either side, got from %s to %s", tc.reason, tc.want, least, most)
			}
			if most-least < tc.want/6 || (sum/1000-tc.want).Abs() > tc.want/50 {
				t.Errorf("%s\nwant %s spread evenly, got from %s to %s, %s in the middle", tc.reason, tc.want, least,
					most, sum/1000)
			}
		})
	}
}
