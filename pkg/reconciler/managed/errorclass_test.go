package managed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestClassesOfFailures verifies that each class of failures has its report and its retry policy, and that no delay
// of an external system is endless or zero.
func TestClassesOfFailures(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason   string
		err      error
		synced   string
		after    time.Duration // zero: the error is returned, for the back-off of the queue
		priority int
	}{
		"Plain": {"it is tried again with back-off", boom, "False/ReconcileError", 0,
			controller.PriorityErrorRetry},
		"RetryAfter": {"the system says when", external.RetryAfter(20*time.Second, boom), "False/ReconcileError",
			21 * time.Second, controller.PriorityErrorRetry},
		"Throttled": {"too much was asked", external.Throttled("writes", 20*time.Second, boom),
			"False/Throttled", 21 * time.Second, controller.PriorityErrorRetry},
		"ThrottledOnly": {"too much was asked, and nobody knows for how long", external.Throttled("", 0, boom),
			"False/Throttled", 0, controller.PriorityErrorRetry},
		"Unauthorized": {"the credentials are not accepted", external.Unauthorized(boom), "False/Unauthorized", 0,
			controller.PriorityErrorRetry},
		"Unavailable": {"nothing works there", external.Unavailable(boom), "False/ExternalSystemUnavailable", 0,
			controller.PriorityErrorRetry},
		"Terminal": {"a human has to do something", external.Terminal("Quota", boom), "False/Quota",
			10 * time.Minute, controller.PriorityPoll},
		"TerminalToo": {
			"whoever says that it is of no use need not say when",
			external.RetryAfter(time.Second, external.Terminal("Quota", external.Unauthorized(boom))),
			"False/Quota", 10 * time.Minute, controller.PriorityPoll,
		},
		"ForAYear": {"nobody waits for a year", external.RetryAfter(365*24*time.Hour, boom), "False/ReconcileError",
			63 * time.Minute, controller.PriorityErrorRetry},
		"ThrottledForAYear": {
			"nor for a quota", external.Throttled("", 365*24*time.Hour, boom), "False/Throttled", 63 * time.Minute,
			controller.PriorityErrorRetry,
		},
		"BelowZero": {"that says nothing", external.RetryAfter(-time.Second, boom), "False/ReconcileError", 0,
			controller.PriorityErrorRetry},
		"ANanosecond": {"nobody is asked without a pause", external.RetryAfter(1, boom), "False/ReconcileError",
			105 * time.Millisecond, controller.PriorityErrorRetry},
		"BelowZeroToo": {"that says nothing either", external.Throttled("", -time.Hour, boom), "False/Throttled", 0,
			controller.PriorityErrorRetry},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			w.pass()
			w.taken()
			w.cloud.Before = failing("Observe", tc.err)
			for i := range 3 {
				result, err := w.try()
				if (err == nil) != (tc.after > 0) || result.RequeueAfter != tc.after || result.Priority == nil ||
					*result.Priority != tc.priority {
					t.Errorf("%s: pass %d: after %s at %s with error %v", tc.reason, i, result.RequeueAfter,
						ptrTo(result.Priority), err)
				}
			}
			w.condition("Synced", tc.synced)
			w.condition("Ready", "True/Available")
			w.expect(status, strings.TrimSpace(strings.Repeat("Connect Observe ", 3)),
				"Warning/CannotObserveExternalResource")
		})
	}
}

// TestTheSameFailureIsReportedOnce verifies that a message that differs only in volatile parts is neither written
// nor reported again.
func TestTheSameFailureIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	n := 0
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		n++
		if call != "Observe" {
			return nil
		}

		return errors.Errorf("denied: request id: 7f3a1b2c-0000-4000-8000-%012d at 2026-01-02T03:04:%02dZ", n, n)
	}
	for range 4 {
		if _, err := w.try(); err == nil {
			t.Fatal("no error")
		}
	}
	w.expect(status, strings.TrimSpace(strings.Repeat("Connect Observe ", 4)), "Warning/CannotObserveExternalResource")
	w.cloud.Before = failing("Observe", errors.New("denied: no such user"))
	_, _ = w.try()
	w.expect(status, "Connect Observe", "Warning/CannotObserveExternalResource")
}

// TestNotFoundIsAnAnswer verifies that every client call may return NotFound as an error.
func TestNotFoundIsAnAnswer(t *testing.T) {
	gone := external.NotFound(errors.New("404"))
	t.Run("Observe", func(t *testing.T) {
		w := newWorld(t, managed.WithDeterministicExternalName(true), managed.WithCreationGracePeriod(0))
		w.cloud.Named = true
		first := true
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Observe" && first {
				first = false

				return gone
			}

			return nil
		}
		w.create(nil)
		w.pass()
		w.condition("Ready", "True/Available")
	})
	t.Run("Update", func(t *testing.T) {
		w := newWorld(t)
		w.create(nil)
		w.pass()
		w.taken()
		w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
		w.cloud.Before = failing("Update", gone)
		w.pass()
		w.expect(status, "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	})
	t.Run("Delete", func(t *testing.T) {
		w := newWorld(t)
		w.create(nil)
		w.pass()
		w.delete()
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Delete" {
				w.cloud.Remove("vol-1")

				return gone
			}

			return nil
		}
		w.pass()
		if !w.gone() {
			t.Error("the object is not gone")
		}
	})
}

// TestATerminalErrorIsNotRetriedWithoutAChange verifies that a terminal error is retried after a relevant change,
// and otherwise rarely, without calls in between.
func TestATerminalErrorIsNotRetriedWithoutAChange(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*world, *connected)
		tries  bool
	}{
		"Nothing": {"nothing has changed", func(*world, *connected) {}, false},
		"Secret":  {"the credentials are others", func(_ *world, c *connected) { c.connection.Revision = "2" }, true},
		"Spec": {"the spec is another one",
			func(w *world, _ *connected) { w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 }) }, true},
		"Metadata": {"a user does what the message says",
			func(w *world, _ *connected) { w.change(annotate("a", "b")) }, true},
		"Event": {"something woke the object before its time",
			func(w *world, _ *connected) { w.clock.SetTime(w.clock.Now().Add(-30 * time.Second)) }, true},
		"Long": {"it is long ago", func(w *world,
			_ *connected) {
			w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
		}, true},
		"Unknown": {"nobody knows the credentials", func(_ *world, c *connected) { c.connection.Revision = "" }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := &connected{connection: managed.Connection{Name: "a", Revision: "1"}}
			w.wrap(c.wrap)
			w.create(nil)
			w.pass()
			w.cloud.Before = failing("Observe", external.Terminal("Quota", errors.New("boom")))
			if got := w.pass().RequeueAfter; got != time.Minute {
				t.Errorf("looked at again after %s, want the poll interval", got)
			}
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			tc.change(w, c)
			w.taken()
			result := w.pass()
			requests, calls, _ := w.taken()
			if tried := calls == "Connect Observe"; tried != tc.tries || requests != "" && name != "Spec" {
				t.Errorf("%s: tried %t, want %t; calls %q, requests %q", tc.reason, tried, tc.tries, calls, requests)
			}
			if result.RequeueAfter <= 0 || result.Priority == nil {
				t.Errorf("result %v", result)
			}
			w.condition("Synced", "False/Quota")
		})
	}
}

// A connected client describes its connection.
type connected struct {
	managed.ExternalClient

	connection managed.Connection
}

func (c *connected) wrap(inner managed.ExternalClient) managed.ExternalClient {
	return &connected{inner, c.connection}
}

func (c *connected) DescribeConnection() managed.Connection { return c.connection }

func TestCredentialsThatAreNotAcceptedAreReadAgain(t *testing.T) {
	w := newWorld(t)
	rechecks := 0
	w.wrap((&connected{connection: managed.Connection{Recheck: func() { rechecks++ }}}).wrap)
	w.create(nil)
	w.pass()
	for _, answer := range []error{errors.New("boom"), external.Unavailable(errors.New("boom")),
		external.Unauthorized(errors.New("boom"))} {
		w.cloud.Before = failing("Observe", answer)
		_, _ = w.try()
	}
	if rechecks != 1 {
		t.Errorf("%d rechecks, want one", rechecks)
	}
}

// The operations of a cloud that takes its time for everything: each call is accepted
// and goes on, and is known by a handle.
type operations struct {
	managed.ExternalClient

	begun  map[string]func() error // by handle
	left   int                     // looks until an operation ends
	asked  []string
	failed error
	n      int
}

func (c *operations) begin(do func() error) error {
	c.n++
	handle := fmt.Sprintf("op-%d", c.n)
	c.begun[handle] = do

	return external.InProgress(handle, 7*time.Second)
}

func (c *operations) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	handle := external.OperationHandle(ctx)
	c.asked = append(c.asked, handle)
	if do := c.begun[handle]; do != nil {
		if c.left--; c.left > 0 {
			return managed.ExternalObservation{}, external.InProgress(handle, 7*time.Second)
		}
		delete(c.begun, handle)
		if c.failed != nil {
			return managed.ExternalObservation{}, c.failed
		}
		if err := do(); err != nil {
			return managed.ExternalObservation{}, err
		}
	}

	return c.ExternalClient.Observe(ctx, mg)
}

func (c *operations) Create(ctx context.Context, mg resource.Managed) error {
	return c.begin(func() error { return c.ExternalClient.Create(context.WithoutCancel(ctx), mg) })
}

func (c *operations) Update(ctx context.Context, mg resource.Managed) error {
	object := mg.DeepCopyObject().(resource.Managed)

	return c.begin(func() error { return c.ExternalClient.Update(context.WithoutCancel(ctx), object) })
}

func (c *operations) Delete(ctx context.Context, mg resource.Managed) error {
	return c.begin(func() error { return c.ExternalClient.Delete(context.WithoutCancel(ctx), mg) })
}

func newOperations(t *testing.T, o ...managed.ReconcilerOption) (*world, *operations) {
	t.Helper()
	w := newWorld(t, append([]managed.ReconcilerOption{managed.WithDeterministicExternalName(true)}, o...)...)
	w.cloud.Named = true
	c := &operations{begun: map[string]func() error{}}
	w.wrap(func(inner managed.ExternalClient) managed.ExternalClient {
		c.ExternalClient = inner

		return c
	})

	return w, c
}

// TestOperationsInProgress verifies that an operation is stored with the object, observed by its handle, also after
// a restart, and forgotten when it ends.
func TestOperationsInProgress(t *testing.T) {
	w, c := newOperations(t)
	w.create(nil)
	settle := func(looks int) {
		t.Helper()
		c.left, c.asked = looks, nil
		handle := w.get().Annotations[meta.AnnotationKeyOperation]
		for i := range looks {
			if i == 1 && looks > 2 {
				w.restart()
			}
			result := w.pass()
			if i < looks-1 && (result.RequeueAfter != 7*time.Second ||
				*result.Priority != controller.PriorityInProgress) {
				t.Errorf("look %d: again after %s at %s", i, result.RequeueAfter, ptrTo(result.Priority))
			}
		}
		for i, asked := range c.asked {
			if asked != handle || handle == "" {
				t.Errorf("look %d was for %q, want %q", i, asked, handle)
			}
		}
	}

	if got := w.pass().RequeueAfter; got != 7*time.Second {
		t.Errorf("looked at again after %s", got)
	}
	w.expect("patch, patch, patch status", "Connect Observe", "Normal/CreatedExternalResource")
	w.condition("Ready", "False/Creating")
	w.condition("Synced", "Unknown/CreationPending")
	settle(3)
	w.condition("Ready", "True/Available")
	if handle := w.get().Annotations[meta.AnnotationKeyOperation]; handle != "" {
		t.Errorf("the handle %q is left", handle)
	}

	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	w.taken()
	w.pass()
	w.expect("patch, patch status", "Connect Observe", "Normal/UpdatedExternalResource")
	settle(3)
	if size := w.cloud.Disks()[0].SizeGiB; size != 2 {
		t.Errorf("size %d", size)
	}
	w.condition("Ready", "True/Available")

	w.delete()
	w.pass()
	w.condition("Ready", "False/Deleting")
	settle(2)
	if !w.gone() || len(w.cloud.Disks()) > 0 {
		t.Error("the object or its disk is not gone")
	}
}

// TestAPauseWhileAnOperationBegins verifies that a pause during a creation stops the next pass, and that this one
// stores its operation.
func TestAPauseWhileAnOperationBegins(t *testing.T) {
	w, c := newOperations(t)
	w.create(nil)
	w.answer = func(_ context.Context, note string) error {
		if strings.Contains(note, meta.AnnotationKeyOperation) {
			w.change(func(v *volume.Volume) {
				meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
			})
		}

		return nil
	}
	if got := w.pass().RequeueAfter; got != 7*time.Second {
		t.Errorf("looked at again after %s", got)
	}
	w.condition("Ready", "False/Creating")
	w.condition("Synced", "Unknown/CreationPending")
	w.pass()
	w.condition("Synced", "False/ReconcilePaused")
	if len(c.asked) != 1 || c.n != 1 {
		t.Errorf("looks for %q, and %d operations", c.asked, c.n)
	}
}

// TestOperationsThatFail verifies that a failed operation ends, and that a failed creation is repeated only if it
// certainly created nothing.
func TestOperationsThatFail(t *testing.T) {
	cases := map[string]struct {
		reason  string
		failed  error
		handle  bool
		creates int
	}{
		"NotCreated": {"surely nothing was created", external.NotCreated(errors.New("no space")), false, 2},
		"Terminal": {"it failed, and trying again is of no use",
			external.Terminal("Quota", errors.New("no space")), false, 1},
		"Unknown": {"nobody knows what became of it", errors.New("connection reset"), true, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, c := newOperations(t, managed.WithDeterministicExternalName(false))
			w.create(nil)
			w.pass()
			c.left, c.failed = 1, tc.failed
			_, _ = w.try()
			if got := w.get().Annotations[meta.AnnotationKeyOperation] != ""; got != tc.handle {
				t.Errorf("%s: there is a handle: %t", tc.reason, got)
			}
			if w.get().GetCondition(commonv1.TypeSynced).Status != "False" {
				t.Error("the failure is not told")
			}
			c.failed = nil
			if tc.handle {
				return
			}
			_, _ = w.try()
			if c.n != tc.creates {
				t.Errorf("%s: %d creates, want %d", tc.reason, c.n, tc.creates)
			}
		})
	}
}

// TestAnOperationOutlastsALookThatFails verifies that a failed observation does not end an operation, whose handle
// is restored after a replace.
func TestAnOperationOutlastsALookThatFails(t *testing.T) {
	w, c := newOperations(t)
	w.create(nil)
	w.pass()
	handle := w.get().Annotations[meta.AnnotationKeyOperation]
	c.left = 1
	c.begun[handle] = func() error { return errBoom }
	if _, err := w.try(); !errors.Is(err, errBoom) {
		t.Errorf("the look ended with %v", err)
	}
	w.change(func(v *volume.Volume) { v.Annotations = nil })
	_, _ = w.try()
	if asked := c.asked; handle == "" || asked[len(asked)-1] != handle {
		t.Errorf("the looks were for %q, want %q again", asked, handle)
	}
}

// updating changes the spec of an object that was created, so that the external system is at work on that, and
// returns the handle.
func updating(w *world, c *operations) string {
	c.left = 1
	w.pass()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	c.left = 9
	w.pass()
	w.pass()

	return w.get().Annotations[meta.AnnotationKeyOperation]
}

// TestAnOperationOutlastsADeferredPass verifies that a deferred first pass remembers the operation, so that a
// replace before the next pass does not lose it.
func TestAnOperationOutlastsADeferredPass(t *testing.T) {
	w, c := newOperations(t, managed.WithSpreadAfterRestart(true))
	w.create(nil)
	w.pass()
	c.left = 1
	w.pass()
	handle := updating(w, c)
	w.restart()
	c.asked = nil
	if w.pass(); handle == "" || len(c.asked) > 0 {
		t.Fatalf("the handle is %q, and the first pass asked for %q", handle, c.asked)
	}
	w.change(func(v *volume.Volume) { v.Annotations = nil })
	w.pass()
	if len(c.asked) != 1 || c.asked[0] != handle {
		t.Errorf("asked for %q, want %q", c.asked, handle)
	}
}
