package managed_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

func conflict() error {
	return kerrors.NewConflict(schema.GroupResource{Resource: "volumes"}, key.Name, errors.New("it has changed"))
}

// A processEnd is what nothing in the process recovers from.
type processEnd struct{}

func (processEnd) EndsProcess() {}

// crashAfterCreate lets the process die after the effect of Create, before its
// result is stored.
func crashAfterCreate(w *world) {
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			panic(processEnd{})
		}

		return nil
	}
	func() {
		defer func() { _ = recover() }()
		w.pass()
	}()
	w.cloud.After = nil
	w.restart()
	w.taken()
}

func TestACrashAfterCreateNeverMakesASecond(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	crashAfterCreate(w)
	for range 3 {
		if got := w.pass().RequeueAfter; got != 10*time.Minute {
			t.Errorf("next pass after %s, want a slow re-check", got)
		}
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
	}
	w.expect("patch, patch status", "Connect Observe Connect Observe Connect Observe",
		"Warning/CannotInitializeManagedResource")
	c := w.condition("Synced", "False/ReconcileError")
	if want := "cannot determine creation result - remove the krateo.io/external-create-pending annotation if it is " +
		"safe to proceed"; c.Message != want {
		t.Errorf("message %q, want %q", c.Message, want)
	}
	w.condition("Ready", "False/Creating")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Fatalf("%d disks, want 1", n)
	}

	w.change(func(v *volume.Volume) {
		meta.RemoveAnnotations(v, meta.AnnotationKeyExternalCreatePending)
		meta.SetExternalName(v, "vol-1")
	})
	w.pass()
	w.condition("Ready", "True/Available")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks, want 1", n)
	}
}

func TestACrashAfterCreateUnderANameOfOurOwnHeals(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.create(nil)
	crashAfterCreate(w)
	w.pass()
	w.expect(status, "Connect Observe", "")
	w.condition("Ready", "True/Available")
}

func TestAnUnresolvedCreationStaysUntilItIsAbandoned(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	crashAfterCreate(w)
	w.delete()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	_, calls, _ := w.taken()
	if strings.Contains(calls, "Delete") || w.gone() {
		t.Fatalf("calls %q, gone %t: nobody knows what to delete", calls, w.gone())
	}
	c := w.condition("Synced", "False/CreationUnresolved")
	id := w.get().Annotations[meta.AnnotationKeyCreateAttempt]
	if id == "" || !strings.Contains(c.Message, id) || !strings.Contains(c.Message, meta.AnnotationKeyAbandonAttempt) {
		t.Errorf("message %q does not say how to abandon attempt %q", c.Message, id)
	}
	w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyAbandonAttempt] = "another" })
	w.pass()
	if w.gone() {
		t.Fatal("another attempt was abandoned than the one in doubt")
	}
	w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyAbandonAttempt] = id })
	w.pass()
	if !w.gone() {
		t.Error("the object is not gone")
	}
}

func TestAnUnobservedCreationIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	hidden := true
	w.cloud.Hidden = func(string) bool { return hidden }
	w.create(nil)
	if got := w.pass().RequeueAfter; got != time.Second {
		t.Errorf("next pass after %s, want a second", got)
	}
	w.condition("Ready", "False/Creating")
	w.condition("Synced", "Unknown/CreationPending")
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		w.pass()
	}
	w.clock.SetTime(w.clock.Now().Add(14 * time.Second))
	if got := w.pass().RequeueAfter; got != time.Second {
		t.Errorf("a second before the end of the window: next pass after %s", got)
	}
	w.expect("patch, patch, patch status", "Connect Observe Create Observe"+strings.Repeat(" Connect Observe", 4),
		"Normal/CreatedExternalResource")

	// The window is over, and time alone must not permit a second creation.
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.expect("patch, patch status", "Connect Observe", "Warning/CannotInitializeManagedResource")
	w.condition("Synced", "False/CreationUnresolved")
	w.restart()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if n := w.cloud.Count("Create"); n != 0 {
		t.Fatalf("%d creations because time passed", n)
	}

	hidden = false
	w.pass()
	w.condition("Ready", "True/Available")
	w.condition("Synced", "True/ReconcileSuccess")
}

func TestAVanishedResourceIsRecreated(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			w.pass()
			w.taken()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			w.cloud.Remove("vol-1")
			if restart {
				w.restart()
				w.pass() // the window starts anew with the process
				w.expect("", "Connect Observe", "")
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
			} else {
				w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter)) // the first answer may be wrong
				w.expect("", "Connect Observe", "")
			}
			w.pass()
			w.expect("patch, patch, patch status", "Connect Observe Create Observe",
				"Warning/ExternalResourceRecreated, Normal/CreatedExternalResource")
			w.condition("Ready", "True/Available")
			if got := meta.GetExternalName(w.get()); got != "vol-2" {
				t.Errorf("external name %q", got)
			}
		})
	}
}

func TestADeletionInsideTheWindow(t *testing.T) {
	w := newWorld(t)
	w.cloud.Hidden = func(string) bool { return true }
	w.create(nil)
	w.pass()
	w.taken()
	w.delete()
	w.pass()
	if w.gone() {
		t.Fatal("the finalizer went although the resource may show any moment")
	}
	w.pass()
	if w.gone() {
		t.Fatal("the finalizer went inside the window")
	}
	_, calls, events := w.taken()
	if n := strings.Count(calls, "Delete"); n != 1 || events != "Normal/DeletedExternalResource" {
		t.Errorf("calls %q, events %q, want one delete by name", calls, events)
	}
	w.clock.SetTime(w.clock.Now().Add(31 * time.Second))
	w.pass()
	if !w.gone() {
		t.Error("the window is over and the object is not gone")
	}
}

func TestADeletionInsideTheWindowOfAClientThatReadsItsOwnWrites(t *testing.T) {
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.create(nil)
	w.pass()
	w.cloud.Remove("vol-1")
	w.delete()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
	w.pass() // the second look, which is believed
	if !w.gone() {
		t.Error("the object is not gone")
	}
}

func TestWhatACreateMayAnswer(t *testing.T) {
	cases := map[string]struct {
		reason  string
		err     error
		mark    string // the result that is marked
		message string // of the returned error; empty for none
		again   bool   // the next pass may create
	}{
		"Conflict": {"a 409 of the API server inside Create tells nothing about the external system",
			conflict(), "", "", false},
		"Plain": {"an error that says neither is a failure", errors.New("boom"), "failed",
			"create failed: boom", true},
		"Refused": {"a request that was refused is a failure", httpStatus(http.StatusBadRequest), "failed",
			"create failed: Bad Request", true},
		"Trouble": {"a system that failed may have done it", httpStatus(http.StatusBadGateway), "",
			"create failed: Bad Gateway", false},
		"MaybeCreated": {"a client may know of an earlier request",
			external.MaybeCreated(httpStatus(http.StatusBadRequest)), "", "create failed: Bad Request", false},
		"Timeout": {"a call that was cut off may have had its effect",
			fmt.Errorf("post: %w", context.DeadlineExceeded), "", "create failed: post", false},
		"NotCreated": {"a client may know better", external.NotCreated(context.DeadlineExceeded), "failed",
			"create failed", true},
		"AlreadyExists": {"a name that is taken is no failure", external.AlreadyExists(errors.New("10058")),
			"failed", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cloud.Before = failing("Create", tc.err)
			w.create(nil)
			_, err := w.try()
			if (err == nil) != (tc.message == "") || err != nil && !strings.Contains(err.Error(), tc.message) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.message)
			}
			_, result, _ := strings.Cut(w.get().Annotations[meta.AnnotationKeyCreateAttempt], "/")
			if result != tc.mark {
				t.Errorf("%s: marked as %q, want %q", tc.reason, result, tc.mark)
			}
			w.cloud.Before = nil
			w.pass()
			if got := len(w.cloud.Disks()) == 1; got != tc.again {
				t.Errorf("%s: created again: %t, want %t", tc.reason, got, tc.again)
			}
		})
	}
}

func TestAResultSurvivesAShutdown(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	ctx, shutdown := context.WithCancel(t.Context())
	w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
		if call != "Create" {
			return nil
		}
		shutdown()
		if err := ctx.Err(); err != nil {
			t.Errorf("a creation under way is cut off: %v", err)
		}

		return nil
	}
	_, _ = w.r.Reconcile(ctx, request())
	v := w.get()
	if meta.GetExternalName(v) != "vol-1" || meta.ExternalCreateIncomplete(v) {
		t.Errorf("annotations %v", v.Annotations)
	}
	if c := v.GetCondition("Synced"); strings.Contains(c.Message, "canceled") {
		t.Errorf("the shutdown is shown as a failure of the object: %s", c.Message)
	}
	w.cloud.Before = nil
	w.restart()
	w.pass()
	w.condition("Ready", "True/Available")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

func TestNoCreationBeginsInAShutdown(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	ctx, shutdown := context.WithCancel(t.Context())
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" {
			shutdown()
		}

		return nil
	}
	if _, err := w.r.Reconcile(ctx, request()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	w.expect("", "Connect Observe", "")
}

// TestAShutdownIsNoFailureOfTheObject verifies that an error during a shutdown is not reported as a failure of the
// object, whichever error the client returns.
func TestAShutdownIsNoFailureOfTheObject(t *testing.T) {
	for _, call := range []string{"Connect", "Observe"} {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			w.pass()
			w.pass()
			before := w.get()
			ctx, shutdown := context.WithCancel(t.Context())
			w.cloud.Before = func(_ context.Context, this string, _ resource.Managed) error {
				if this != call {
					return nil
				}
				shutdown()

				return errors.New("the connections are closed")
			}
			if _, err := w.r.Reconcile(ctx, request()); err == nil ||
				!strings.Contains(err.Error(), "the connections are closed") {
				t.Errorf("error %v", err)
			}
			if after := w.get(); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("the object was written: %+v", after.Status.Conditions)
			}
		})
	}
}

func TestAnAPIServerThatFailsForAWhileLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	failures := 0
	w.answer = func(_ context.Context, note string) error {
		if strings.Contains(note, "external-create-succeeded") && failures < 4 {
			failures++

			return kerrors.NewInternalError(errors.New("etcd has no leader"))
		}

		return nil
	}
	w.pass()
	w.condition("Ready", "True/Available")
	if failures != 4 || len(w.cloud.Disks()) != 1 {
		t.Errorf("%d failures, disks %v", failures, w.cloud.Disks())
	}
}

func TestAnnotationsThatDoNotFitLoseNoName(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Create" {
			meta.AddAnnotations(mg, map[string]string{"example.org/huge": strings.Repeat("x", 1<<20)})
		}

		return nil
	}
	w.answer = func(_ context.Context, note string) error {
		if len(note) > 256<<10 {
			return kerrors.NewInvalid(schema.GroupKind{Kind: "Volume"}, key.Name, nil)
		}

		return nil
	}
	w.pass()
	v := w.get()
	if meta.GetExternalName(v) != "vol-1" || meta.ExternalCreateIncomplete(v) ||
		v.Annotations["example.org/huge"] != "" {
		t.Errorf("external name %q, incomplete %t", meta.GetExternalName(v), meta.ExternalCreateIncomplete(v))
	}
}

// An httpStatus is an error of a client of HTTP.
type httpStatus int

func (s httpStatus) Error() string   { return http.StatusText(int(s)) }
func (s httpStatus) StatusCode() int { return int(s) }
