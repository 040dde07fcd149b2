package managed_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestADeleteInsideTheWindowIsNotBelievedBeforeItsEnd verifies that the grace period has to end before a "not
// found" releases an object whose Delete was lost and whose resource is not observed yet.
func TestADeleteInsideTheWindowIsNotBelievedBeforeItsEnd(t *testing.T) {
	w := newWorld(t)
	hidden := true
	w.cloud.Hidden = func(string) bool { return hidden }
	w.create(nil)
	w.pass()
	w.delete()
	w.cloud.Swallow = errSwallow
	w.cloud.Before = failing("Delete", errSwallow) // the eventually consistent system loses the delete
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.pass()
	if w.gone() {
		t.Fatalf("object gone 1s into a 30s grace; disks left %v", w.cloud.Disks())
	}
}

func TestWhatIsNotReadyIsLookedAtSoon(t *testing.T) {
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return unready{c} })
	w.create(nil)
	w.pass()
	for i, want := range []time.Duration{time.Second, time.Second, 2 * time.Second} {
		w.clock.SetTime(w.clock.Now().Add(8 * time.Second))
		if got := w.pass().RequeueAfter; got.Round(time.Second) != want {
			t.Errorf("look %d: the next one after %s, want %s", i, got, want)
		}
	}
}

type unready struct{ managed.ExternalClient }

func (f unready) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := f.ExternalClient.Observe(ctx, mg)
	if o.ResourceExists {
		mg.SetConditions(commonv1.Creating())
	}
	return o, err
}

func TestTheEndOfTheWindowIsNotSleptOver(t *testing.T) {
	w := newWorld(t, managed.WithPollInterval(time.Hour))
	w.cloud.Hidden = func(string) bool { return true }
	w.create(nil)
	w.pass()
	w.delete()
	w.clock.SetTime(w.clock.Now().Add(29500 * time.Millisecond))
	if got := w.pass().RequeueAfter; got > 500*time.Millisecond {
		t.Errorf("rest of grace is 500ms, next pass after %s", got)
	}
}

func TestAnAuthorsFinalizerLosesNoStatus(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithFinalizer(resource.NewAPIFinalizer(w.API, "example.org/own")))
	w.restart()
	w.create(nil)
	w.pass()
	w.pass()
	d := w.cloud.Disks()[0]
	d.UsedBytes = 5
	w.cloud.Put(d)
	for range 3 {
		w.pass()
	}
	if got := w.get().Status.UsedBytes; got != 5 {
		t.Errorf("used bytes %d, want 5", got)
	}
}

func TestAnAuthorsFinalizerAndAResourceThatExists(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithFinalizer(resource.NewAPIFinalizer(w.API, "example.org/own")))
	w.restart()
	w.cloud.Put(volume.Disk{ID: "vol-77", SizeGiB: 1})
	w.create(func(v *volume.Volume) { meta.SetExternalName(v, "vol-77") })
	for range 4 {
		w.pass()
	}
	w.condition("Ready", "True/Available")
}

func TestAnAuthorsFinalizerStoresNoSpec(t *testing.T) {
	w := newWorld(t)
	w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Observe" {
			mg.(*volume.Volume).Spec.Tier = "scribbled"
		}
		return nil
	}
	w.o = append(w.o, managed.WithFinalizer(resource.NewAPIFinalizer(w.API, "example.org/own")))
	w.restart()
	w.create(nil)
	w.pass()
	if w.get().Spec.Tier != "" {
		t.Errorf("spec stored without ResourceLateInitialized: %+v", w.get().Spec)
	}
}

func TestAnAuthorsFinalizerUnderOurNameIsNotForeign(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithFinalizer(resource.NewAPIFinalizer(w.API, managed.FinalizerName)))
	w.restart()
	w.create(func(v *volume.Volume) { v.Finalizers = []string{"example.org/backup"} })
	w.pass()
	w.delete()
	w.pass()
	if len(w.cloud.Disks()) != 1 {
		t.Errorf("deleted although %v", w.get().Finalizers)
	}
}

func TestAFoundResourceResolvesItsCreation(t *testing.T) {
	w := newWorld(t)
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			return context.DeadlineExceeded
		}
		return nil
	}
	w.create(nil)
	_, _ = w.try()
	w.cloud.After = nil
	w.pass()
	w.condition("Ready", "True/Available")
	w.delete()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if !w.gone() {
		t.Errorf("disks %v, stuck: %+v", w.cloud.Disks(), w.get().GetCondition("Synced"))
	}
}

func TestTheWayOutOfAnUnseenCreation(t *testing.T) {
	w := newWorld(t)
	hidden := true
	w.cloud.Hidden = func(string) bool { return hidden }
	w.create(nil)
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	c := w.condition("Synced", "False/CreationUnresolved")
	for _, mark := range []string{meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyCreateAttempt} {
		if !strings.Contains(c.Message, mark) {
			t.Errorf("the message does not say to remove %s: %s", mark, c.Message)
		}
	}
	w.cloud.Remove("vol-1")
	w.change(func(v *volume.Volume) {
		meta.RemoveAnnotations(v, meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
			meta.AnnotationKeyCreateAttempt)
	})
	hidden = false
	w.pass()
	w.pass()
	w.condition("Ready", "True/Available")
}

func TestAMissingResourceStaysMissingOverARestart(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyManagementPolicy] = "observe-delete" })
	w.cloud.Remove("vol-1")
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.condition("Synced", "False/ExternalResourceMissing")
	w.restart()
	w.pass()
	w.condition("Synced", "False/ExternalResourceMissing")
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.condition("Synced", "False/ExternalResourceMissing")
	w.change(func(v *volume.Volume) { delete(v.Annotations, meta.AnnotationKeyManagementPolicy) })
	w.pass()
	w.condition("Ready", "True/Available")
}

// TestAConnectionThatBreaksIsNoFailure verifies that an interrupted Create has an unknown result.
func TestAConnectionThatBreaksIsNoFailure(t *testing.T) {
	w := newWorld(t)
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Create" {
			meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	w.create(nil)
	_, _ = w.try()
	w.cloud.After = nil
	_, _ = w.try()
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

func TestOwnWritesDoNotEndABackOffHoweverLateTheyAreSeen(t *testing.T) {
	w := newWorld(t)
	w.cloud.Before = failing("Create", errors.New("bad request"))
	var versions []*volume.Volume
	w.create(nil)
	versions = append(versions, w.get())
	w.answer = func(_ context.Context, note string) error {
		versions = append(versions, w.get())
		return nil
	}
	_, _ = w.try()
	versions = append(versions, w.get())
	p := w.r.Predicate()
	for i := 1; i < len(versions); i++ {
		if p.Update(ctrlevent.UpdateEvent{ObjectOld: versions[i-1], ObjectNew: versions[i]}) {
			t.Errorf("own write %d cancels the back-off: %v -> %v", i, versions[i-1].Annotations,
				versions[i].Annotations)
		}
	}
}

func TestIntervalsThatOverflow(t *testing.T) {
	for _, r := range []float64{0.1, 0.9} {
		w := newWorld(t, managed.WithRandom(func() float64 { return r }))
		w.create(func(v *volume.Volume) {
			v.Annotations = map[string]string{meta.AnnotationKeyPollInterval: "2562047h"}
		})
		if got := w.pass().RequeueAfter; got < time.Second {
			t.Errorf("hot loop: %s", got)
		}
		w2 := newWorld(t)
		w2.create(func(v *volume.Volume) {
			v.Annotations = map[string]string{
				meta.AnnotationKeyPollInterval:         "300000h",
				meta.AnnotationKeyReconciliationPaused: "true",
			}
		})
		if got := w2.pass().RequeueAfter; got < time.Second {
			t.Errorf("hot loop paused: %s", got)
		}
	}
}

func TestATakenNameWithoutAResourceIsReported(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.cloud.Before = failing("Create", external.AlreadyExists(errors.New("name is taken by another account")))
	w.create(nil)
	for range 5 {
		_, _ = w.try()
	}
	c := w.get().GetCondition("Synced")
	_, _, events := w.taken()
	if c.Reason == "CreationPending" || events == "" {
		t.Errorf("condition %s/%s %q events %q", c.Status, c.Reason, c.Message, events)
	}
}

// TestAFleetTakenOverIsNotCreatedTwice verifies that objects of the seed, which reports Synced after a Create
// without an observation, are not created twice.
func TestAFleetTakenOverIsNotCreatedTwice(t *testing.T) {
	w := newWorld(t)
	w.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
	w.cloud.Hidden = func(id string) bool { return id == "vol-0" }
	now := w.clock.Now().UTC().Format(time.RFC3339)
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{managed.FinalizerName}
		v.Annotations = map[string]string{
			"krateo.io/external-name": "vol-0", "krateo.io/external-create-pending": now,
			"krateo.io/external-create-succeeded": now,
		}
	})
	v := w.get()
	v.SetConditions(commonv1.ReconcileSuccess(), commonv1.Creating())
	w.Must(w.API.Status().Update(t.Context(), v))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

func TestAnAttemptWithoutAnIdCannotBeAbandoned(t *testing.T) {
	w := newWorld(t)
	now := w.clock.Now().UTC().Format(time.RFC3339)
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{managed.FinalizerName}
		v.Annotations = map[string]string{"krateo.io/external-create-pending": now}
	})
	w.delete()
	w.pass()
	if c := w.get().GetCondition("Synced"); strings.Contains(c.Message, `""`) {
		t.Errorf("%s", c.Message)
	}
}

func TestATerminalConflictIsReportedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.cloud.Before = failing("Connect", external.Terminal("Taken", conflict()))
	if got := w.pass(); got.RequeueAfter == 0 {
		t.Errorf("%v", got)
	}
}

func TestAMarkCountsForTheNameItWasMadeFor(t *testing.T) {
	owner := managed.OwnerOurs
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return owning{c, &owner} })
	w.create(nil)
	w.pass()
	owner = managed.OwnerNone
	w.cloud.Put(volume.Disk{ID: "somebodys", SizeGiB: 50})
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "somebodys") })
	w.pass()
	for _, d := range w.cloud.Disks() {
		if d.ID == "somebodys" && d.SizeGiB != 50 {
			t.Errorf("changed %v", d)
		}
	}
}

func TestMarksThatAreRemovedAreForgotten(t *testing.T) {
	w := newWorld(t)
	hidden := true
	w.cloud.Hidden = func(string) bool { return hidden }
	w.create(nil)
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.change(func(v *volume.Volume) { v.Annotations, v.Finalizers = nil, nil })
	w.pass()
	w.condition("Synced", "False/CreationUnresolved") // a replace is no answer of the user's
	w.change(func(v *volume.Volume) { v.Annotations = nil })
	w.pass()
	w.condition("Synced", "False/CreationUnresolved") // whatever it leaves
	w.cloud.Remove("vol-1")
	w.change(taking(meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyCreateAttempt))
	hidden = false
	w.pass()
	w.pass()
	w.condition("Ready", "True/Available")
}

func TestConnectSharesTheDeadline(t *testing.T) {
	w := newWorld(t, managed.WithTimeout(time.Hour))
	w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
		if d, _ := ctx.Deadline(); time.Until(d) > time.Hour {
			t.Errorf("%s may take %s", call, time.Until(d))
		}
		return nil
	}
	w.create(nil)
	w.pass()
}

func TestAnAuthorsFinalizerAndConditions(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithFinalizer(resource.NewNopFinalizer()))
	w.restart()
	w.create(nil)
	w.pass()
	ready := false
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Observe" && !ready {
			mg.SetConditions(commonv1.Unavailable())
		}
		return nil
	}
	w.pass()
	w.condition("Ready", "False/Unavailable")
	ready = true
	w.pass()
	w.condition("Ready", "True/Available")
}

// TestTheContextOfConnectLastsAsLongAsThePass verifies that a client can use the context of Connect during the
// pass, for example to fetch a token.
func TestTheContextOfConnectLastsAsLongAsThePass(t *testing.T) {
	w := newWorld(t)
	var connected context.Context
	w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
		if call == "Connect" {
			connected = ctx
		} else if err := connected.Err(); err != nil {
			t.Errorf("%s: %v", call, err)
		}

		return nil
	}
	w.create(nil)
	w.pass()
	if connected.Err() == nil {
		t.Error("the context outlives the pass")
	}
}
