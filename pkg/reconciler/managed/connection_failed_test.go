package managed_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestASystemThatCannotBeConnectedTo verifies that a Connect failure of the whole connection is counted by its gate
// and reported there, without a secret; an object reports it only if its user waits. Connect is still called, to
// find new credentials.
func TestASystemThatCannotBeConnectedTo(t *testing.T) {
	const password = "swordfish-42"
	w := newWorld(t)
	set := limit.NewSet(limit.WithClock(w.clock), limit.WithBreaker(3, 10*time.Second, time.Minute))
	w.o = append(w.o, managed.WithLimits(set))
	w.restart()
	w.create(nil)
	w.pass()
	w.taken()
	calls := set.States()[0].Calls
	w.cloud.Before = func(ctx context.Context, call string, mg resource.Managed) error {
		external.Conceal(ctx, []byte(password))

		return errors.Wrapf(external.Unavailable(errors.New("nobody is at 10.0.0.1 for "+password)),
			"cannot log in for %s", mg.GetName())
	}
	// Ever later, and from when it is known to be down not before it is tried again.
	for _, after := range []time.Duration{time.Second, 2 * time.Second, 10 * time.Second, 10 * time.Second} {
		if result, err := w.try(); err != nil || result.RequeueAfter != after {
			t.Errorf("result %v, error %v, want it to come back in silence after %s", result, err, after)
		}
	}
	w.expect("", "Connect Connect Connect Connect", "")
	state := set.States()[0]
	if state.Reason != limit.ReasonUnavailable || state.Calls-calls != 3 || state.Held != 1 {
		t.Errorf("state %+v, want three calls that have shown that it is down, and one that was held", state)
	}
	said := []string{state.Message}

	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 7 })
	if result, err := w.try(); err != nil || result.RequeueAfter > 10*time.Second {
		t.Errorf("result %v, error %v, want it to come back with the next probe", result, err)
	}
	w.expect("patch status", "Connect", "")
	said = append(said, w.condition("Synced", "False/ExternalSystemUnavailable").Message)
	for _, text := range said {
		if !strings.Contains(text, "nobody is at 10.0.0.1") || strings.Contains(text, password) ||
			strings.Contains(text, key.Name) {
			t.Errorf("it is said %q", text)
		}
	}
	_, _ = w.try()
	w.expect("", "Connect", "")

	w.cloud.Before = nil
	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	w.pass()
	w.expect("patch status", "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	if state := set.States()[0]; !state.Open() || state.Message != "" {
		t.Errorf("state %+v, want that of a system that works", state)
	}
}

// TestFailuresOfAConnectionReplaceOthers: an object that was reconciled before its configuration existed shows that.
// When the configuration exists, and its system is down, the object shows this once.
func TestFailuresOfAConnectionReplaceOthers(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithLimits(limit.NewSet(limit.WithClock(w.clock))))
	w.restart()
	w.create(nil)
	fails := errors.New("the ProviderConfig does not exist")
	w.cloud.Before = func(context.Context, string, resource.Managed) error { return fails }
	_, _ = w.try()
	w.condition("Synced", "False/ReconcileError")
	w.taken()

	fails = external.Unavailable(errors.New("no route to host"))
	_, _ = w.try()
	w.expect("patch status", "Connect", "")
	text := w.condition("Synced", "False/ExternalSystemUnavailable").Message
	if !strings.Contains(text, "no route to host") {
		t.Errorf("it says %q", text)
	}
	_, _ = w.try()
	w.expect("", "Connect", "")
}

// TestACrowdThatCannotConnect verifies that a hundred objects that cannot connect count as one failure.
func TestACrowdThatCannotConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := limit.NewSet(limit.WithBreaker(5, 10*time.Second, time.Minute))
		f := newCrowd(t, managed.WithLimits(set))
		f.cloud.Before = func(ctx context.Context, call string, mg resource.Managed) error {
			if err := f.answer(ctx, call, mg); err != nil || call != "Connect" {
				return err
			}
			f.calls.Lock()
			defer f.calls.Unlock()
			if f.down {
				return external.Unavailable(errors.New("no route to host"))
			}

			return nil
		}
		f.operate()
		<-time.After(2 * time.Minute)
		f.calls.Lock()
		f.down = true
		f.calls.Unlock()
		<-time.After(2 * time.Minute)
		f.world.taken()
		before := set.States()[0].Calls
		<-time.After(time.Hour)
		if probes := set.States()[0].Calls - before; probes < 50 || probes > 62 {
			t.Errorf("%d calls in an hour, want one a minute", probes)
		}
		if requests, _, events := f.world.taken(); strings.Contains(requests, "patch") || events != "" {
			t.Errorf("writes %q and events %q, want none", requests, events)
		}
		f.calls.Lock()
		f.down = false
		f.calls.Unlock()
		<-time.After(3 * time.Minute)
		if state := set.States()[0]; state.Reason != limit.ReasonAvailable {
			t.Errorf("state %+v, want it to be well", state)
		}
		f.calls.Lock()
		defer f.calls.Unlock()
		for i := range crowdSize {
			if seen := f.seen[named(i).Name]; len(seen) == 0 || time.Since(seen[len(seen)-1]) > 3*time.Minute {
				t.Errorf("%s was not seen again", named(i).Name)
			}
		}
	})
}
