package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// remembered returns what the reconciler of a world knows of its object.
func (w *world) remembered(in *objectstate.Handle) objectstate.Record {
	w.Helper()
	for _, r := range in.Snapshot() {
		if r.Cold == nil {
			r.Cold = &objectstate.Cold{}
		}

		return r
	}
	w.Fatal("nothing is remembered")

	return objectstate.Record{}
}

// TestACreationIsRemembered verifies that the mark, time and result of a creation are remembered until it is
// observed; with deterministic names there is no mark, and the name is known.
func TestACreationIsRemembered(t *testing.T) {
	for _, named := range []bool{false, true} {
		in := &objectstate.Handle{}
		w := newWorld(t, managed.WithObjectStates(in), managed.WithDeterministicExternalName(named))
		w.cloud.Named, w.cloud.Hidden = named, func(string) bool { return true }
		w.create(nil)
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.pass()
		r, mark := w.remembered(in), w.get().Annotations[meta.AnnotationKeyCreateAttempt]
		want, made := mark, objectstate.CreationRef{Mark: mark, Name: "vol-1"}
		if named {
			want, made = "by this process", objectstate.CreationRef{}
		}
		if r.Creation != want || r.Since != objectstate.Instant(time.Minute+1) || r.Changed != r.Since ||
			r.Made != made || r.Seen != (objectstate.CreationRef{}) {
			t.Errorf("named %t: marked %q, remembered %+v %+v", named, mark, r.State, r.Cold)
		}
		w.cloud.Hidden = nil
		w.pass()
		w.pass()
		if r := w.remembered(in); r.Made != (objectstate.CreationRef{}) || r.Changed != 0 ||
			!named && r.Seen.Mark != mark {
			t.Errorf("named %t: after it has shown, remembered %+v %+v", named, r.State, r.Cold)
		}
	}
}

// TestAChangeIsRemembered verifies that the time of the last change is remembered until it has an effect, and that
// a repeated failure is not reported.
func TestAChangeIsRemembered(t *testing.T) {
	in := &objectstate.Handle{}
	w := newWorld(t, managed.WithObjectStates(in))
	w.create(nil)
	w.pass()
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Update" {
			w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1}) // it has no effect
		}

		return nil
	}
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	first := objectstate.Instant(time.Hour + 1)
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if r := w.remembered(in); r.Since != first || r.Changed != first {
		t.Errorf("after an update, remembered %+v %+v", r.State, r.Cold)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if r := w.remembered(in); r.Since != 2*first-1 || r.Changed != first {
		t.Errorf("after it was repeated, remembered %+v %+v", r.State, r.Cold)
	}

	w.cloud.Swallow = errSwallow
	w.cloud.Before = failing("Delete", errSwallow)
	w.delete()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if r := w.remembered(in); r.Changed != 3*first-2 || !r.DeleteSent.Equal(w.clock.Now()) {
		t.Errorf("after a deletion, remembered %+v %+v", r.State, r.Cold)
	}
}

// TestWhatIsClaimedIsMarked verifies that an adopted resource is marked as a successful creation of the object, and
// that a resource of its own attempt is marked with that attempt.
func TestWhatIsClaimedIsMarked(t *testing.T) {
	own := attemptOf("uid-1")
	for name, tc := range map[string]struct {
		pending bool
		fills   bool
		owner   managed.Owner
		writes  string
	}{
		"taken over":            {false, false, managed.OwnerUnknown, "intent"},
		"what an attempt made":  {true, false, managed.OwnerUnknown, "intent"},
		"and lacks its mark":    {true, false, managed.OwnerNone, "intent"},
		"with what it fills in": {false, true, managed.OwnerUnknown, "late-init"},
	} {
		registry := prometheus.NewRegistry()
		w := newWorld(t, managed.WithMetricsRegisterer(registry), managed.WithMetricsPrefix("a"),
			managed.WithAdoptionPolicy(meta.AdoptionPolicyIfUnowned))
		w.wrap(func(c managed.ExternalClient) managed.ExternalClient {
			if tc.fills {
				return filling{c}
			}

			return belonging{c, tc.owner}
		})
		w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
		w.create(func(v *volume.Volume) {
			meta.SetExternalName(v, "vol-9")
			if tc.pending {
				meta.AddAnnotations(v, map[string]string{
					meta.AnnotationKeyCreateAttempt:         own,
					meta.AnnotationKeyExternalCreatePending: mark,
				})
			}
		})
		w.pass()
		v := w.get()
		attempt, ours := v.Annotations[meta.AnnotationKeyCreateAttempt], own[strings.Index(own, "-"):]+"/succeeded"
		if !strings.HasSuffix(attempt, ours) || tc.pending != (attempt == own+"/succeeded") ||
			meta.GetExternalCreateSucceeded(v).IsZero() || !meta.FinalizerExists(v, managed.FinalizerName) {
			t.Errorf("%s: marked %v, held by %v", name, v.Annotations, v.Finalizers)
		}
		for _, what := range []string{"intent", "late-init", "result"} {
			want := 0.0
			if what == tc.writes || what == "result" && tc.pending { // before it is looked at, it is held again
				want = 1
			}
			if n := metric(t, registry, "a_managed_writes_total changed=true what="+what); n != want {
				t.Errorf("%s: %v writes of %s, want %v", name, n, what, want)
			}
		}
	}
}

// TestAnUnstorableFailureIsReported verifies that a failed creation that cannot be stored is reported with the
// cause.
func TestAnUnstorableFailureIsReported(t *testing.T) {
	w := newWorld(t, updater(errLost))
	w.cloud.Before = failing("Create", errBoom)
	w.create(nil)
	if _, err := w.try(); !errors.Is(err, errBoom) {
		t.Errorf("error %v", err)
	}
	said := map[string]string{}
	for _, e := range w.events {
		said[string(e.Type)+"/"+string(e.Reason)] = e.Message
	}
	if len(said) != 2 || said["Warning/CannotUpdateManagedResource"] != errLost.Error() ||
		said["Warning/CannotCreateExternalResource"] != "create failed: boom" {
		t.Errorf("told %v", said)
	}
}

// TestWhatMayNotBeginLeavesNoTrace verifies that a change that must not begin leaves no entry in the change log, no
// author's finalizer and no warning of a recreation, and releases its token.
func TestWhatMayNotBeginLeavesNoTrace(t *testing.T) {
	var refusal error
	var entries []changelog.Entry
	added := 0
	set := limit.NewSet()
	w := newWorld(t, managed.WithLimits(set), managed.WithCreationGracePeriod(0),
		managed.WithFence(func(context.Context) error { return refusal }),
		managed.WithChangeLog(changelog.SinkFunc(func(_ context.Context, e changelog.Entry) error {
			entries = append(entries, e)

			return nil
		})),
		managed.WithFinalizer(resource.FinalizerFns{
			AddFinalizerFn: func(_ context.Context, o resource.Object) error {
				added++

				return nil
			},
			RemoveFinalizerFn: func(context.Context, resource.Object) error { return nil },
		}))
	w.create(nil)
	refusal = errBoom
	if _, err := w.try(); !errors.Is(err, errBoom) {
		t.Errorf("error %v", err)
	}
	if state := set.States()[0]; len(entries) > 0 || added > 0 || state.InFlight != 0 || w.cloud.Count("Create") > 0 {
		t.Errorf("logged %v, a finalizer was added %d times, %+v", entries, added, state)
	}
	refusal = nil
	w.pass()
	refusal = errBoom
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	entries = nil
	if _, err := w.try(); !errors.Is(err, errBoom) {
		t.Errorf("error %v", err)
	}
	if state := set.States()[0]; len(entries) > 0 || state.InFlight != 0 || w.cloud.Count("Update") > 0 {
		t.Errorf("logged %v, %+v", entries, state)
	}

	refusal = nil
	w.pass()
	w.cloud.Remove("vol-1")
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.taken()
	refusal, w.answer = nil, onWrite("external-create-pending", conflict)
	if _, err := w.try(); err != nil {
		t.Errorf("error %v", err)
	}
	if requests, _, events := w.taken(); requests != "patch" || events != "" {
		t.Errorf("requests %q, told %q of what was not created again", requests, events)
	}
	w.answer = nil
	w.pass()
	if _, _, events := w.taken(); events != "Warning/ExternalResourceRecreated, Normal/CreatedExternalResource" {
		t.Errorf("told %q", events)
	}
}

// TestAnAbandonedAttemptIsReported verifies that an abandoned attempt is reported when another one is made in its
// place.
func TestAnAbandonedAttemptIsReported(t *testing.T) {
	w := newWorld(t, managed.WithRandom(sequence()))
	w.cloud.Before = failing("Create", errLost)
	w.create(nil)
	_, _ = w.try()
	w.cloud.Before = nil
	id := w.get().Annotations[meta.AnnotationKeyCreateAttempt]
	w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyAbandonAttempt] = id })
	w.taken()
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Create Observe",
		"Warning/CreationAttemptAbandoned, Normal/CreatedExternalResource")
	if again := w.get().Annotations[meta.AnnotationKeyCreateAttempt]; again == id+"/succeeded" {
		t.Errorf("the attempt %s was repeated", id)
	}
}

// TestASinkHasItsTime verifies that a change log sink has ten seconds, also during a shutdown.
func TestASinkHasItsTime(t *testing.T) {
	var left time.Duration
	ended := true
	w := newWorld(t, managed.WithChangeLog(changelog.SinkFunc(func(ctx context.Context, _ changelog.Entry) error {
		end, _ := ctx.Deadline()
		left, ended = time.Until(end), ctx.Err() != nil

		return nil
	})))
	w.create(nil)
	ctx, stop := context.WithCancel(t.Context())
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			stop()
		}

		return nil
	}
	_, _ = w.r.Reconcile(ctx, request())
	if ended || left > 10*time.Second || left < 5*time.Second {
		t.Errorf("the sink is told when it has %s left, ended %t", left, ended)
	}
}
