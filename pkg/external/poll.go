package external

import (
	"hash/fnv"
	"time"

	"k8s.io/utils/clock"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ageParts is how many times an object was as it is for as long as it is left
// alone: what took a while to change will take a while to change again.
const ageParts = 10

// AdaptivePoll returns a hook for managed.WithPollIntervalHook with which an
// object is looked at the less often the longer it has been as it is: after a
// tenth of the time that its condition Ready has stood, but not before the poll
// interval and not after longest, as PollByAge says. The time is then changed by
// up to a tenth to either side, always the same way for the same object, so that
// objects that were made together are not looked at together.
//
// Nothing is remembered: a restart changes no interval. An object without Ready
// is looked at after the poll interval.
//
// The hook may be called concurrently.
func AdaptivePoll(longest time.Duration, c clock.PassiveClock) func(mg resource.Managed,
	poll time.Duration) time.Duration {
	return func(mg resource.Managed, poll time.Duration) time.Duration {
		wait := poll
		if since := mg.GetCondition(commonv1.TypeReady).LastTransitionTime; !since.IsZero() {
			wait = PollByAge(c.Since(since.Time), poll, longest)
		}

		return wait + time.Duration(lean(string(mg.GetUID()))*float64(wait)/10)
	}
}

// PollByAge returns a tenth of age, but not less than poll and not more than
// longest. If these contradict each other, poll is returned.
//
// With a second as poll it is how long to wait for something that takes its time:
// whoever looks again after a tenth of the time that has passed notices the end at
// most a tenth too late.
func PollByAge(age, poll, longest time.Duration) time.Duration {
	return max(poll, min(age/ageParts, longest))
}

// lean is a number from -1 to 1 that belongs to a text.
func lean(s string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // a hash takes everything
	const most = 1<<32 - 1

	return 2*float64(h.Sum32())/most - 1
}
