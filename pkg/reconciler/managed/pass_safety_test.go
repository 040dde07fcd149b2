package managed_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAbsenceIsDoubtedOnce verifies that the absence of a resource that is to be deleted is believed after a second
// observation.
func TestAbsenceIsDoubtedOnce(t *testing.T) {
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.create(nil)
	w.pass()
	hidden := true
	w.cloud.Hidden = func(string) bool { return hidden }
	w.delete()
	w.taken()
	result := w.pass()
	w.expect("patch status", "Connect Observe", "")
	if w.gone() || result.RequeueAfter > 5*time.Second {
		t.Fatalf("gone %t, again after %s", w.gone(), result.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
	hidden = false
	w.pass()
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("gone %t, disks %v: an answer that was wrong once lost a disk", w.gone(), w.cloud.Disks())
	}
}

// TestFence verifies that a fenced process begins no change.
func TestFence(t *testing.T) {
	var fence error
	var deadline time.Time
	w := newWorld(t, managed.WithCreationGracePeriod(0),
		managed.WithFence(func(context.Context) error { return fence }),
		managed.WithLeaseDeadline(func() time.Time { return deadline }))
	w.create(nil)
	refused := func(call string) {
		t.Helper()
		for _, close := range []func(){func() { fence = errors.New("not the leader") },
			func() { deadline = w.clock.Now().Add(time.Second - 1) }} {
			fence, deadline = nil, time.Time{}
			close()
			if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "not begun") {
				t.Errorf("%s: error %v", call, err)
			}
			if n := w.cloud.Count(call); n != 0 {
				t.Errorf("%d calls of %s", n, call)
			}
		}
		fence, deadline = nil, time.Now().Add(time.Hour)
		w.pass()
		if n := w.cloud.Count(call); n != 1 {
			t.Errorf("%d calls of %s once it may", n, call)
		}
	}
	refused("Create")
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	refused("Update")
	w.delete()
	refused("Delete")
}

// TestCallsEndWithTheLease verifies that a call under way is canceled at the end of the lease.
func TestCallsEndWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(10 * time.Second)
		w := newWorld(t, managed.WithClock(realClock{}), managed.WithLeaseDeadline(func() time.Time { return end }))
		w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				return drag(ctx, 20*time.Second)
			}

			return nil
		}
		w.create(nil)
		if _, err := w.try(); !errors.Is(err, context.DeadlineExceeded) || time.Now().After(end.Add(time.Second)) {
			t.Errorf("error %v, %s after the end", err, time.Since(end))
		}
	})
}

// TestAnotherSystemIsNotAsked verifies that nothing is called in another system than that of the resource, where
// NotFound means nothing.
func TestAnotherSystemIsNotAsked(t *testing.T) {
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.cloud.Account = "blue"
	w.create(nil)
	w.pass()
	if got := w.get().Annotations[meta.AnnotationKeyBackendIdentity]; got != "blue" {
		t.Fatalf("identity %q", got)
	}
	w.cloud.Account = "green"
	w.taken()
	for range 2 {
		w.pass()
	}
	w.expect("patch status", "Connect Connect", "Warning/CannotConnectToProvider")
	w.condition(commonv1.TypeSynced, "False/BackendChanged")
	w.delete()
	w.pass()
	if w.gone() {
		t.Fatal("the object went, and its disk is in the other system")
	}

	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyAllowBackendChange: "green"})
	})
	w.pass()
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
	}
}

// TestIdentityCostsNothing verifies that the backend identity is stored without a request of its own.
func TestIdentityCostsNothing(t *testing.T) {
	for name, o := range map[string]managed.ReconcilerOption{
		"assigned": managed.WithCreationGracePeriod(0),
		"chosen":   managed.WithDeterministicExternalName(true),
	} {
		w := newWorld(t, o)
		w.cloud.Account, w.cloud.Named = "blue", name == "chosen"
		w.create(nil)
		w.pass()
		want := "patch, patch, patch status"
		if name == "chosen" {
			want = "patch, patch status"
		}
		w.expect(want, "Connect Observe Create Observe", "Normal/CreatedExternalResource")
		if got := w.get().Annotations[meta.AnnotationKeyBackendIdentity]; got != "blue" {
			t.Errorf("%s: identity %q", name, got)
		}
		w.pass()
		w.expect("", "Connect Observe", "")
	}
}

// TestAdoptionPolicies verifies that the policy of the object, or else that of the controller, decides on existing
// resources.
func TestAdoptionPolicies(t *testing.T) {
	cases := map[string]struct {
		owner              managed.Owner
		option, annotation string
		size               int64
		adopted            bool
	}{
		"unknown, nothing said":                   {managed.OwnerUnknown, "", "", 1, true},
		"unknown, never":                          {managed.OwnerUnknown, "never", "", 1, false},
		"unknown, the annotation wins":            {managed.OwnerUnknown, "never", "if-unowned", 1, true},
		"unknown, matching":                       {managed.OwnerUnknown, "if-matching", "", 1, true},
		"unknown, not matching":                   {managed.OwnerUnknown, "if-matching", "", 7, false},
		"nobody's, nothing said":                  {managed.OwnerNone, "", "", 1, false},
		"nobody's, unowned by option":             {managed.OwnerNone, "if-unowned", "", 7, true},
		"nobody's, matching by annotation":        {managed.OwnerNone, "", "if-matching", 1, true},
		"another's, unowned":                      {managed.OwnerOther, "if-unowned", "", 1, false},
		"another's, by force, nobody knows where": {managed.OwnerOther, "", "force", 1, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithAdoptionPolicy(tc.option))
			w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return belonging{c, tc.owner} })
			w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: tc.size})
			w.create(func(v *volume.Volume) {
				meta.SetExternalName(v, "vol-9")
				meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyAdoptionPolicy: tc.annotation})
			})
			w.pass()
			if adopted := w.get().GetCondition(
				commonv1.TypeSynced).Reason == commonv1.ReasonReconcileSuccess; adopted != tc.adopted {
				t.Errorf("adopted %t: %+v", adopted, w.get().Status.Conditions)
			}
			w.pass() // what was adopted stays so
			if got := w.cloud.Disks()[0].SizeGiB; got != tc.size && !tc.adopted {
				t.Errorf("changed to %d without being adopted", got)
			}
		})
	}
}

// Belonging is a client that says whose everything is.
type belonging struct {
	managed.ExternalClient

	owner managed.Owner
}

func (b belonging) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := b.ExternalClient.Observe(ctx, mg)
	o.Owner = b.owner

	return o, err
}

// RealClock is the system's.
type realClock struct{}

func (realClock) Now() time.Time                  { return time.Now() }
func (realClock) Since(t time.Time) time.Duration { return time.Since(t) }
