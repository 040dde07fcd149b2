package managed_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A crowd is many volumes of one account, worked on by a controller's workers out of
// the real queue.
type crowd struct {
	*world

	queue priorityqueue.PriorityQueue[reconcile.Request]

	calls   sync.Mutex
	bucket  *rate.Limiter // what the account allows; nil: everything
	down    bool
	first   time.Time // the first refusal
	made    []time.Time
	refused int
	seen    map[string][]time.Time // looks that were answered, by object
	updates map[string]time.Time   // calls that change something
}

const (
	crowdSize    = 100
	crowdPoll    = 10 * time.Second
	crowdLatency = 50 * time.Millisecond
)

func newCrowd(t *testing.T, o ...managed.ReconcilerOption) *crowd {
	t.Helper()
	f := &crowd{seen: map[string][]time.Time{}, updates: map[string]time.Time{}}
	f.world = newWorld(t, append([]managed.ReconcilerOption{
		managed.WithPollInterval(crowdPoll), managed.WithClock(clock.RealClock{}),
		managed.WithDeterministicExternalName(true),
	}, o...)...)
	f.cloud.Named = true
	f.cloud.Before = f.answer
	for i := range crowdSize {
		f.create(func(v *volume.Volume) {
			v.Name, v.UID = fmt.Sprintf("v%02d",
				i), types.UID(fmt.Sprintf("uid-%d", i))
		})
	}
	f.queue = controller.NewQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
		ratelimiter.BackOffBase, ratelimiter.BackOffMax)).(priorityqueue.PriorityQueue[reconcile.Request])

	return f
}

// answer is what the account says to a call.
func (f *crowd) answer(_ context.Context, call string, mg resource.Managed) error {
	if call == "Connect" {
		return nil
	}
	<-time.After(crowdLatency)
	f.calls.Lock()
	defer f.calls.Unlock()
	now := time.Now()
	f.made = append(f.made, now)
	switch {
	case f.down:
		return external.Unavailable(errors.New("503"))
	case f.bucket != nil && !f.bucket.AllowN(now, 1):
		if f.refused++; f.first.IsZero() {
			f.first = now
		}

		return external.Throttled("", external.RetryAfterHeader("1", now), errors.New("429, Retry-After: 1"))
	case call == "Observe":
		f.seen[mg.GetName()] = append(f.seen[mg.GetName()], now)
	default:
		f.updates[call+" "+mg.GetName()] = now
	}

	return nil
}

// operate runs workers as a controller does, until the test ends.
func (f *crowd) operate() {
	const workers = 10
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				key, priority, shutdown := f.queue.GetWithPriority()
				if shutdown {
					return
				}
				result, err := f.r.Reconcile(f.Context(), key)
				if result.Priority != nil {
					priority = *result.Priority
				}
				switch {
				case err != nil:
					f.queue.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: &priority}, key)
				case result.RequeueAfter > 0:
					f.queue.Forget(key)
					f.queue.AddWithOpts(priorityqueue.AddOpts{After: result.RequeueAfter, Priority: &priority}, key)
				}
				f.queue.Done(key)
			}
		})
	}
	for i := range crowdSize {
		f.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(controller.PriorityPoll)}, named(i))
	}
	f.Cleanup(func() { f.queue.ShutDown(); all.Wait() })
}

func named(i int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: key.Namespace,
		Name: fmt.Sprintf("v%02d", i)}}
}

// user changes or deletes a volume, and wakes its controller as an event does.
func (f *crowd) user(i int, change func(*volume.Volume)) {
	f.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // a pass may write at the same time
		v := &volume.Volume{}
		if err := f.API.Get(f.Context(), named(i).NamespacedName, v); err != nil {
			return err
		}
		if change == nil {
			return f.API.Delete(f.Context(), v)
		}
		change(v)
		v.Generation++

		return f.API.Update(f.Context(), v)
	})
	f.Must(err)
	f.queue.Add(named(i))
}

// TestAThrottledAccount verifies that a hundred objects share a throttled account without exceeding its rate, that
// none starves, and that requests of users precede polls.
func TestAThrottledAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const allows, length = 4.0, 15 * time.Minute
		f := newCrowd(t, managed.WithLimits(limit.NewSet(limit.WithRate(10, 0.1, 100))))
		f.bucket = rate.NewLimiter(allows, int(allows))
		f.operate()
		<-time.After(3 * time.Minute)
		var delays []time.Duration
		for i := range 40 {
			begun, call := time.Now(), "Update"
			if i%2 == 0 {
				f.user(i, func(v *volume.Volume) { v.Spec.SizeGiB = 7 })
			} else {
				call = "Delete"
				f.user(i, nil)
			}
			<-time.After(length / 50)
			f.calls.Lock()
			done, ok := f.updates[call+" "+named(i).Name]
			f.calls.Unlock()
			if !ok {
				t.Errorf("the %s of %d was not made within %s", call, i, length/50)

				continue
			}
			delays = append(delays, done.Sub(begun))
		}
		f.calls.Lock()
		defer f.calls.Unlock()
		allowed := allows * time.Since(f.first).Seconds()
		after := 0
		for _, at := range f.made {
			if at.After(f.first) {
				after++
			}
		}
		t.Logf("%d calls after the first refusal, %.0f allowed, %d refused; users waited %s at most", after, allowed,
			f.refused, slices.Max(delays))
		if n := float64(after); n > 1.2*allowed || n < 0.8*allowed {
			t.Errorf("%.0f calls were made after the first refusal, want within a fifth of the %.0f that the account allows",
				n, allowed)
		}
		if longest := slices.Max(delays); longest > 5*time.Second {
			t.Errorf("a user waited %s, while polls come every %s", longest,
				time.Duration(crowdSize/allows)*time.Second)
		}
		for i := range crowdSize {
			if i%2 == 1 && i < 40 {
				continue // deleted
			}
			seen := f.seen[named(i).Name]
			if len(seen) == 0 || time.Since(seen[len(seen)-1]) > 3*time.Minute {
				t.Errorf("%s starves: it was seen %d times", named(i).Name, len(seen))
			}
		}
	})
}

// TestASystemThatIsDown verifies that an unavailable API gets one call per interval, however many objects there
// are, and that only objects whose users wait report it.
func TestASystemThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := limit.NewSet(limit.WithBreaker(5, 10*time.Second, time.Minute))
		f := newCrowd(t, managed.WithLimits(set))
		f.operate()
		<-time.After(2 * time.Minute)
		f.calls.Lock()
		f.down = true
		f.calls.Unlock()
		<-time.After(2 * time.Minute) // it is noticed, and probes become rare
		f.world.taken()
		f.calls.Lock()
		f.made = nil
		f.calls.Unlock()
		f.user(1, func(v *volume.Volume) { v.Spec.SizeGiB = 7 })
		f.user(2, nil)
		<-time.After(time.Hour)

		f.calls.Lock()
		probes := len(f.made)
		f.calls.Unlock()
		requests, _, events := f.world.taken()
		if probes < 50 || probes > 62 {
			t.Errorf("%d calls in an hour, want one a minute", probes)
		}
		if n := strings.Count(requests, "patch"); n > 2 || events != "" {
			t.Errorf("%d writes and events %q, want one write for each object whose user waits", n, events)
		}
		for i, reason := range map[int]commonv1.ConditionReason{
			1: commonv1.ReasonExternalSystemUnavailable, 3: commonv1.ReasonReconcileSuccess,
		} {
			v := &volume.Volume{}
			if err := f.API.Get(t.Context(), named(i).NamespacedName, v); err != nil ||
				v.GetCondition(commonv1.TypeSynced).Reason != reason {
				t.Errorf("%d: %v, Synced %v, want %s", i, err, v.GetCondition(commonv1.TypeSynced), reason)
			}
		}

		f.calls.Lock()
		f.down = false
		f.calls.Unlock()
		<-time.After(3 * time.Minute)
		if states := set.States(); len(states) != 1 || states[0].Reason != limit.ReasonAvailable {
			t.Errorf("states %v, want one that is available", states)
		}
		f.calls.Lock()
		defer f.calls.Unlock()
		for _, call := range []string{"Update v01", "Delete v02"} {
			if f.updates[call].IsZero() {
				t.Errorf("%s was not made after the system was up again: %v", call, slices.Sorted(maps.Keys(f.updates)))
			}
		}
	})
}

// TestAHeldCreationLeavesNoTrace verifies that nothing is written for a throttled creation, and that it does not
// count as begun.
func TestAHeldCreationLeavesNoTrace(t *testing.T) {
	for _, deterministic := range []bool{false, true} {
		set := limit.NewSet()
		w := newWorld(t, managed.WithLimits(set), managed.WithDeterministicExternalName(deterministic))
		w.cloud.Named = deterministic
		w.cloud.After = func(ctx context.Context, call string, _ resource.Managed) error {
			if call != "Observe" {
				return nil
			}
			// another call is throttled between the observation and the creation
			release, err := set.Gate(set.States()[0].Name).Acquire(ctx, limit.Request{Priority: limit.User})
			if err == nil {
				release(external.Throttled("", time.Minute, errors.New("429")))
			}

			return nil
		}
		w.create(nil)
		for i := range 2 {
			result, err := w.try()
			if err != nil || result.RequeueAfter <= 0 || *result.Priority != controller.PriorityUser {
				t.Errorf("pass %d: after %s at %s with error %v, want it to come back as urgent as it was", i,
					result.RequeueAfter, ptrTo(result.Priority), err)
			}
			for key, value := range w.get().Annotations {
				t.Errorf("annotation %s=%s", key, value)
			}
		}
		w.expect("patch status", "Connect Observe Connect", "")
		w.condition("Synced", "False/Throttled")
	}
}

// TestAPollThatIsHeldBackSaysNothing verifies that a throttled connection is reported by its configuration: an
// object reports it only if its user waits, also in Reconciling.
func TestAPollThatIsHeldBackSaysNothing(t *testing.T) {
	w := newWorld(t, managed.WithLimits(limit.NewSet()), managed.WithKstatusConditions())
	w.create(nil)
	w.pass()
	w.pass()
	w.condition("Reconciling", "False/ReconcileSuccess")
	w.cloud.Before = failing("Observe", external.Throttled("", time.Hour, errors.New("429")))
	w.taken()
	for range 2 {
		if result, err := w.try(); err != nil || result.RequeueAfter <= 0 {
			t.Errorf("result %v, error %v", result, err)
		}
	}
	w.expect("", "Connect Observe Connect", "")
	w.condition("Reconciling", "False/ReconcileSuccess")
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
	_, _ = w.try()
	w.expect("patch status", "Connect", "")
	w.condition("Synced", "False/Throttled")
	w.condition("Reconciling", "True/Throttled")
}

// TestLimitsAreThoseOfTheConnection verifies that each described connection has its own limits, and that new
// credentials are tried at once.
func TestLimitsAreThoseOfTheConnection(t *testing.T) {
	set := limit.NewSet()
	w := newWorld(t, managed.WithLimits(set))
	c := &connected{connection: managed.Connection{Name: "ProviderConfig/default/prod", Revision: "1"}}
	w.wrap(c.wrap)
	w.create(nil)
	w.pass()
	w.cloud.Before = failing("Observe", external.Unauthorized(errors.New("401")))
	if result, err := w.try(); err != nil || result.RequeueAfter <= 0 {
		t.Errorf("result %v, error %v", result, err)
	}
	w.taken()
	_, _ = w.try()
	w.expect("", "Connect", "")
	w.cloud.Before = nil
	c.connection.Revision = "2"
	w.pass()
	w.expect("", "Connect Observe", "")
	if states := set.States(); len(states) != 1 || states[0].Name != "ProviderConfig/default/prod" ||
		!states[0].Open() {
		t.Errorf("states %+v", states)
	}
}
