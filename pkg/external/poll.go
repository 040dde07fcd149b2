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

// AdaptivePoll returns a hook for managed.WithPollIntervalHook that polls an object less
// often the longer it has not changed: after a tenth of the time since the last transition of
// its condition Ready, but not before the poll interval and not after longest, see PollByAge.
// A jitter of up to a tenth, constant for each object, is added, so that objects that were
// created together are not polled together.
//
// There is no state: a restart changes no interval. An object without Ready is polled after
// the poll interval.
//
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

// PollByAge returns a tenth of age, but not less than poll and not more than
// longest. If these contradict each other, poll is returned.
//
// With a second as poll it is the interval for a long-running operation: its end is noticed
// late by a tenth of its duration at most.
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
