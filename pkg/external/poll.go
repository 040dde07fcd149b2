package external

import (
	"hash/fnv"
	"time"

	"k8s.io/utils/clock"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ageParts is the quotient of the time since the last change and the poll interval: an object
// that has not changed for long will probably not change soon.
const ageParts = 10

// AdaptivePoll returns a hook for managed.WithPollIntervalHook that polls an object less often the longer it has not
// changed. The delay is a tenth of the time since the last transition of the condition Ready. It is at least the poll
// interval and at most longest, see PollByAge. The hook adds a jitter of up to a tenth, which is constant for each
// object. So objects that were created together are not polled together.
//
// The hook has no state, so a restart changes no interval. An object without Ready is polled after the poll interval.
// The hook may be called concurrently.
func AdaptivePoll(longest time.Duration, c clock.PassiveClock) func(mg resource.Managed,
	poll time.Duration) time.Duration {
	return func(mg resource.Managed, poll time.Duration) time.Duration {
		wait := poll
		if since := mg.GetCondition(commonv1.TypeReady).LastTransitionTime; !since.IsZero() {
			wait = PollByAge(c.Since(since.Time), poll, longest)
		}

		return wait + time.Duration(jitter(string(mg.GetUID()))*float64(wait)/10)
	}
}

// PollByAge returns a tenth of age, but at least poll and at most longest. If longest is less than poll, it returns
// poll.
//
// PollByAge is also useful for a long-running operation, with a poll of a second. The end of the operation is then
// noticed late by at most a tenth of its duration.
func PollByAge(age, poll, longest time.Duration) time.Duration {
	return max(poll, min(age/ageParts, longest))
}

// jitter returns a number from -1 to 1 that is constant for a text.
func jitter(s string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // a hash takes everything
	const most = 1<<32 - 1

	return 2*float64(h.Sum32())/most - 1
}
