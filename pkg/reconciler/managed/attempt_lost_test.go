package managed_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The tests of this file hold what a review found.

// TestARefusedRepeatKeepsTheToken verifies that a rejected repetition of a create keeps the token: it says nothing
// about the first call.
func TestARefusedRepeatKeepsTheToken(t *testing.T) {
	for name, refusal := range map[string]error{
		"not created": external.NotCreated(errLost), "taken": external.AlreadyExists(errLost),
	} {
		for _, deleted := range []bool{false, true} {
			w := newWorld(t, managed.WithCreationTokens(), managed.WithRandom(sequence()),
				managed.WithCreationGracePeriod(0))
			w.cloud.Tokens = true
			w.cloud.After = lost()
			w.create(nil)
			_, _ = w.try()
			w.cloud.Before = failing("Create", refusal)
			_, _ = w.try()
			w.cloud.Before = nil
			if deleted {
				w.delete()
			}
			for range 6 {
				_, _ = w.try()
				w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
				if w.gone() {
					break
				}
			}
			want := 1
			if deleted {
				want = 0
			}
			if n := len(w.cloud.Disks()); n != want || deleted != w.gone() {
				t.Errorf("%s, deleted %t: %d disks, gone %t", name, deleted, n, w.gone())
			}
		}
	}
}

// TestALostAnswerIsNotLookedForElsewhere verifies that the backend identity is stored before the first Create, so
// that a lost answer is not looked up in another system.
func TestALostAnswerIsNotLookedForElsewhere(t *testing.T) {
	w := newWorld(t)
	w.cloud.Account, w.cloud.Window = "blue", time.Second
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.cloud.Account = "green"
	for range 3 {
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
	}
	w.condition(commonv1.TypeSynced, "False/BackendChanged")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}

	w.cloud.Account = "" // the identity is unknown for a moment
	if _, err := w.try(); err == nil || w.cloud.Count("Create") != 1 {
		t.Errorf("error %v, %d creates", err, w.cloud.Count("Create"))
	}
	w.cloud.Account = "blue"
	w.pass()
	w.condition(commonv1.TypeReady, "True/Available")
}

// TestIdentityIsLearned verifies that an existing object gets the backend identity once, when its client knows it.
func TestIdentityIsLearned(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.cloud.Account = "blue"
	w.taken()
	w.pass()
	w.expect("patch", "Connect Observe", "")
	w.pass()
	w.expect("", "Connect Observe", "")
}

// TestMarksThatClaimNothing verifies that the mark of a failed creation, or of another object, claims no resource.
func TestMarksThatClaimNothing(t *testing.T) {
	cases := map[string]map[string]string{
		"a creation that failed since": {
			meta.AnnotationKeyExternalCreateSucceeded: "2026-01-01T00:00:01Z",
			meta.AnnotationKeyExternalCreateFailed:    "2026-01-01T00:00:03Z",
			meta.AnnotationKeyExternalCreatePending:   "2026-01-01T00:00:02Z",
			meta.AnnotationKeyCreateAttempt:           "0badcafe/failed",
		},
		"a copy of another object": {
			meta.AnnotationKeyExternalCreateSucceeded: "2026-01-01T00:00:01Z",
			meta.AnnotationKeyExternalCreatePending:   "2026-01-01T00:00:00Z",
			meta.AnnotationKeyCreateAttempt:           "0badcafe0badcafe-0badcafe/succeeded",
		},
		"a copy of one whose creation is under way": {
			meta.AnnotationKeyExternalCreatePending: "2026-01-01T00:00:00Z",
			meta.AnnotationKeyCreateAttempt:         attemptOf("uid-0"),
		},
	}
	for name, marks := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithCreationGracePeriod(0))
			w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return belonging{c, managed.OwnerNone} })
			w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 77})
			w.original("uid-0")
			w.create(func(v *volume.Volume) {
				meta.AddAnnotations(v, marks)
				meta.SetExternalName(v, "vol-9")
				meta.AddFinalizer(v, managed.FinalizerName)
			})
			w.pass()
			w.condition(commonv1.TypeSynced, "False/ExternalResourceNotOwned")
			w.delete()
			w.pass()
			if disks := w.cloud.Disks(); !w.gone() || len(disks) != 1 || disks[0].SizeGiB != 77 {
				t.Errorf("gone %t, disks %v", w.gone(), disks)
			}
		})
	}
}

// TestOursWithoutItsMarkIsNotReleased verifies that the resource of a lost attempt is not released as a foreign one
// because its mark is missing.
func TestOursWithoutItsMarkIsNotReleased(t *testing.T) {
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return belonging{c, managed.OwnerNone} })
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			return errLost // after the name was set
		}

		return nil
	}
	w.create(nil)
	_, _ = w.try()
	w.delete()
	w.pass()
	w.condition(commonv1.TypeSynced, "False/CreationUnresolved")
	if w.gone() {
		t.Error("released")
	}
}

// TestTheGuardComesBeforeTheToken verifies that nothing is created to learn the name of a resource that a deletion
// guard retains.
func TestTheGuardComesBeforeTheToken(t *testing.T) {
	w := newWorld(t, managed.WithCreationTokens(), managed.WithDeletionGuard(), managed.WithCreationGracePeriod(0))
	w.cloud.Tokens = true
	w.cloud.Before = failing("Create", errLost)
	w.create(nil)
	_, _ = w.try()
	w.cloud.Before = nil
	w.leavingNamespace()
	w.delete()
	for range 3 {
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
		if w.gone() {
			break
		}
	}
	if n := len(w.cloud.Disks()); n != 0 || !w.gone() {
		t.Errorf("%d disks, gone %t", n, w.gone())
	}
}

// TestConnectionDetailsAreMaskedEverywhere verifies that a connection detail is redacted in conditions that the
// client sets, and in every error.
func TestConnectionDetailsAreMaskedEverywhere(t *testing.T) {
	g := newGallery(t)
	g.wrap(func(c managed.ExternalClient) managed.ExternalClient { return talkative{c} })
	g.create(secretNamed("login"))
	g.pass()
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 9 })
	_, err := g.try()
	texts := []string{err.Error()}
	for _, c := range g.get().Status.Conditions {
		texts = append(texts, c.Message)
	}
	for _, e := range g.events {
		texts = append(texts, e.Message)
	}
	if all := strings.Join(texts, "\n"); strings.Contains(all, "password-of-vol-1") ||
		!strings.Contains(all, "was refused") {
		t.Errorf("texts:\n%s", all)
	}
}

type talkative struct{ managed.ExternalClient }

func (c talkative) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := c.ExternalClient.Observe(ctx, mg)
	if o.ResourceExists {
		mg.SetConditions(commonv1.Unavailable().WithMessage("login with " + string(o.ConnectionDetails["password"]) +
			" was refused"))
	}

	return o, err
}

func (c talkative) Update(context.Context, resource.Managed) error {
	return errors.New("login with password-of-vol-1 was refused")
}

// TestDetailsArePublishedThoughUpdatesFail verifies that connection details are published although Update fails.
func TestDetailsArePublishedThoughUpdatesFail(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	g.cloud.Before = failing("Update", external.Terminal("Immutable", errors.New("size is immutable")))
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 9 })
	d := g.cloud.Disks()[0]
	d.Password = "rotated-outside"
	g.cloud.Put(d)
	g.pass()
	if got := string(g.secret("login").Data["password"]); got != "rotated-outside" {
		t.Errorf("password %q", got)
	}
	g.condition(commonv1.TypeSynced, "False/Immutable")
}

// TestAnOldConnectionSecretIsReported verifies that the Secret that an object named before is reported, because its
// content is still valid.
func TestAnOldConnectionSecretIsReported(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	g.taken()
	g.change(secretNamed("other"))
	g.pass()
	g.pass()
	if _, _, events := g.taken(); events != "Warning/ConnectionSecretLeft" || g.secret("other") == nil {
		t.Errorf("events %q", events)
	}
	g.change(func(s *volume.Snapshot) { s.Spec.WriteConnectionSecretToRef = nil })
	g.pass()
	g.pass()
	if _, _, events := g.taken(); events != "Warning/ConnectionSecretLeft" ||
		g.get().Status.ConnectionDetailsHash != "" {
		t.Errorf("events %q, hash %q", events, g.get().Status.ConnectionDetailsHash)
	}
}

// TestAFencedProcessIsSilent verifies that a fenced process writes nothing about that to the object.
func TestAFencedProcessIsSilent(t *testing.T) {
	var fence error
	w := newWorld(t, managed.WithFence(func(context.Context) error { return fence }))
	w.create(nil)
	fence = errors.New("not the leader")
	if _, err := w.try(); err == nil {
		t.Error("no error")
	}
	w.expect("", "Connect Observe", "")
	fence = nil
	w.pass()
	w.taken()
	fence = errors.New("not the leader")
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	_, _ = w.try()
	w.expect("", "Connect Observe", "")
}

// TestALeaseThatIsRenewed verifies that a renewed lease cancels no call.
func TestALeaseThatIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deadlines atomic.Int64 // are asked for beside the pass, too
		w := newWorld(t, managed.WithClock(realClock{}), managed.WithLeaseDeadline(func() time.Time {
			return time.Now().Add(time.Duration(deadlines.Add(1)+1) * time.Second) // it is renewed later and later
		}))
		w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				return drag(ctx, 20*time.Second)
			}

			return nil
		}
		w.create(nil)
		w.pass()
		w.condition(commonv1.TypeReady, "True/Available")
	})
}

// drag lasts for a while, or as long as its context.
func drag(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// TestUpToDateOfWhatIsNotThere verifies that a missing resource is never reported as up to date.
func TestUpToDateOfWhatIsNotThere(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.pass()
	g.cloud.Remove("vol-1")
	g.cloud.Before = failing("Create", errLost)
	g.clock.SetTime(g.clock.Now().Add(time.Hour))
	g.clock.SetTime(g.clock.Now().Add(g.pass().RequeueAfter)) // the first answer may be wrong
	_, _ = g.try()
	g.pass()
	if c := g.get().GetCondition(commonv1.TypeUpToDate); c.Status != "Unknown" {
		t.Errorf("condition %+v", c)
	}
}

// TestWhatWasNotLookedAtIsNotHandled verifies that a pass without an observation does not report its generation as
// observed, unless a person has to act.
func TestWhatWasNotLookedAtIsNotHandled(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(gallery)
		handled bool
	}{
		"it cannot connect": {func(g gallery) { g.cloud.Before = failing("Connect", errors.New("down")) }, false},
		"it never will": {func(g gallery) {
			g.cloud.Before = failing("Connect", external.Terminal("Suspended", errors.New("no such account")))
		}, true},
		"its policy is not understood": {func(g gallery) { g.change(policies("x")) }, true},
		"it is paused":                 {func(g gallery) { g.change(policies()) }, false},
	} {
		g := newGallery(t)
		g.create(nil)
		g.pass()
		g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
		tc.change(g)
		_, _ = g.try()
		if s := g.get(); (s.Status.ObservedGeneration == s.Generation) != tc.handled {
			t.Errorf("%s: observed generation %d of %d", name, s.Status.ObservedGeneration, s.Generation)
		}
	}
}

// TestALookupAndAnObservationThatDiffer verifies that a lookup that finds a resource which Observe does not find
// writes it once, and never asks to create it again.
func TestALookupAndAnObservationThatDiffer(t *testing.T) {
	w := newWorld(t)
	w.cloud.Window = time.Second
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.cloud.After = nil
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return blind{c} })
	for range 3 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	w.taken()
	w.pass()
	w.expect("", "Connect Recover", "")
	w.condition(commonv1.TypeSynced, "Unknown/CreationPending")
}

// A blind client finds nothing by its name. It wraps another one, whose other
// abilities are kept.
type blind struct{ managed.ExternalClient }

func (blind) Observe(context.Context, resource.Managed) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{}, nil
}

func (b blind) Unwrap() any { return b.ExternalClient }

// TestALookupDoesNotTakeANameBack verifies that a lookup does not revert an external name that a user has set
// since.
func TestALookupDoesNotTakeANameBack(t *testing.T) {
	w := newWorld(t, managed.WithAdoptionPolicy(meta.AdoptionPolicyIfUnowned))
	w.cloud.Window = time.Second
	w.create(nil)
	w.pass()
	w.cloud.Put(volume.Disk{ID: "other", SizeGiB: 1})
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "other") })
	for range 2 {
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.restart()
		w.pass()
	}
	if got := meta.GetExternalName(w.get()); got != "other" || w.cloud.Count("Recover") != 0 {
		t.Errorf("external name %q after %d lookups", got, w.cloud.Count("Recover"))
	}
}
