package kstatustest

import (
	"context"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	progressing = status.InProgressStatus
	current     = status.CurrentStatus
	failed      = status.FailedStatus
	terminating = status.TerminatingStatus

	polls = 20
)

var errBoom = errors.New("boom")

// A moment is a point in the life of an object.
type moment struct {
	reason string
	arrive func(*world) // makes the object, and brings it there

	// The status that kstatus computes, by the dialect of the kind.
	want [len(dialects)]status.Status

	// How long a poll takes; a minute if it is not set.
	poll time.Duration

	// Idle is true if no pass is made: the object is new to the reconciler.
	idle bool

	// Halted is true if the object is behind and no pass changes that.
	halted bool
}

var moments = map[string]moment{
	"NotSeen": {
		reason: "Without a status kstatus takes the object for current. A default in the CRD helps, see " +
			"TestADefaultShowsThatThereWasNoPass.",
		arrive: func(w *world) { w.create() },
		want:   [...]status.Status{current, current, current},
		idle:   true,
	},
	"Creating": {
		reason: "The created resource does not show yet.",
		arrive: func(w *world) { w.cloud.Hidden = func(string) bool { return true }; w.create(); w.mustPass() },
		want:   [...]status.Status{progressing, progressing, progressing},
		poll:   time.Second,
	},
	"CreateFails": {
		reason: "It is tried again.",
		arrive: func(w *world) { w.fail("Create", external.NotCreated(errBoom)); w.create(); w.mustFail() },
		want:   [...]status.Status{progressing, progressing, progressing},
	},
	"CreateIsRefused": {
		reason: "A retry is useless; only the pair can report that.",
		arrive: func(w *world) {
			w.fail("Create", external.NotCreated(external.Terminal("Quota", errBoom)))
			w.create()
			w.mustPass()
		},
		want: [...]status.Status{progressing, progressing, failed},
	},
	"CreationUnresolved": {
		reason: "The result of Create is unknown: a user has to check.",
		arrive: func(w *world) {
			w.create()
			w.annotate(meta.AnnotationKeyExternalCreatePending, w.clock.Now().Format(time.RFC3339))
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.mustPass()
		},
		want: [...]status.Status{progressing, progressing, failed},
	},
	"WaitingForReady": {
		reason: "It exists and cannot be used yet.",
		arrive: func(w *world) { w.slow = true; w.create(); w.mustPass() },
		want:   [...]status.Status{progressing, progressing, progressing},
	},
	"ReadyIsNotSaid": {
		reason: "If the client does not set Ready, there is nothing to wait for.",
		arrive: func(w *world) { w.silent = true; w.create(); w.mustPass() },
		want:   [...]status.Status{current, current, current},
	},
	"Ready": {
		reason: "All is as it should be.",
		arrive: func(w *world) { w.ready() },
		want:   [...]status.Status{current, current, current},
	},
	"ChangeNotSeen": {
		reason: "Ready is about the former generation.",
		arrive: func(w *world) { w.ready(); w.resize(2) },
		want:   [...]status.Status{current, progressing, progressing},
		idle:   true,
	},
	"Changed": {
		reason: "The resource is as in the spec.",
		arrive: func(w *world) { w.ready(); w.resize(2); w.mustPass() },
		want:   [...]status.Status{current, current, current},
	},
	"ChangeFails": {
		reason: "It is retried, and the existing resource can still be used.",
		arrive: func(w *world) { w.ready(); w.fail("Update", errBoom); w.resize(2); w.mustFail() },
		want:   [...]status.Status{current, current, progressing},
	},
	"ChangeIsRefused": {
		reason: "A retry is useless.",
		arrive: func(w *world) {
			w.ready()
			w.fail("Update", external.Terminal("Quota", errBoom))
			w.resize(2)
			w.mustPass()
		},
		want: [...]status.Status{current, current, failed},
	},
	"ChangeDoesNotShow": {
		reason: "An update was accepted and has no visible effect.",
		arrive: func(w *world) {
			w.ready()
			w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Update" {
					w.drift(1)
				}

				return nil
			}
			w.resize(2)
			w.mustPass()
		},
		want: [...]status.Status{current, current, progressing},
	},
	"DriftCorrected": {
		reason: "It drifted, and was corrected.",
		arrive: func(w *world) { w.ready(); w.drift(7); w.mustPass() },
		want:   [...]status.Status{current, current, current},
	},
	"DriftTolerated": {
		reason: "The policy forbids changes: there is nothing to wait for.",
		arrive: func(w *world) {
			w.ready()
			w.annotate(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
			w.drift(7)
			w.mustPass()
		},
		want: [...]status.Status{current, current, current},
	},
	"ChangeForbidden": {
		reason: "The same if the spec and the policy change at once: UpToDate shows the difference.",
		arrive: func(w *world) {
			w.ready()
			w.annotate(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
			w.resize(2)
			w.mustPass()
		},
		want: [...]status.Status{current, current, current},
	},
	"Unreachable": {
		reason: "Its state is unknown; it was ready.",
		arrive: func(w *world) { w.ready(); w.fail("Observe", errBoom); w.mustFail() },
		want:   [...]status.Status{current, current, progressing},
	},
	"PolicyNotUnderstood": {
		reason: "Nothing is done until the user corrects it.",
		arrive: func(w *world) { w.ready(); w.annotate(meta.AnnotationKeyManagementPolicy, "obsere"); w.mustPass() },
		want:   [...]status.Status{current, current, failed},
	},
	"Paused": {
		reason: "The user has paused it.",
		arrive: func(w *world) { w.ready(); w.annotate(meta.AnnotationKeyReconciliationPaused, "true"); w.mustPass() },
		want:   [...]status.Status{current, current, current},
	},
	"PausedAndChanged": {
		reason: "The change of the spec is not applied before the pause ends.",
		arrive: func(w *world) {
			w.ready()
			w.annotate(meta.AnnotationKeyReconciliationPaused, "true")
			w.resize(2)
			w.mustPass()
		},
		want:   [...]status.Status{current, progressing, progressing},
		halted: true,
	},
	"MissingFromTheBeginning": {
		reason: "The policy is observe only, and the resource does not exist.",
		arrive: func(w *world) {
			w.create()
			w.annotate(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
			w.annotate(meta.AnnotationKeyExternalName, "vol-9")
			w.mustPass()
		},
		want: [...]status.Status{current, current, failed},
	},
	"Vanished": {
		reason: "The policy is observe only, and the resource is gone.",
		arrive: func(w *world) {
			w.ready()
			w.annotate(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
			w.cloud.Remove("vol-1")
			w.later()
			w.mustPass()
		},
		want: [...]status.Status{progressing, progressing, failed},
	},
	"NotOwned": {
		reason: "The resource of the name has another owner.",
		arrive: func(w *world) {
			w.owner = managed.OwnerOther
			w.cloud.Put(volume.Disk{ID: "theirs", SizeGiB: 1})
			w.create()
			w.annotate(meta.AnnotationKeyExternalName, "theirs")
			w.mustPass()
		},
		want: [...]status.Status{progressing, progressing, failed},
	},
	"Deleted": {
		reason: "It is being deleted, whatever the conditions are.",
		arrive: func(w *world) { w.ready(); w.delete() },
		want:   [...]status.Status{terminating, terminating, terminating},
		idle:   true,
	},
	"DeletingTakesTime": {
		reason: "Its deletion was requested, and it still exists.",
		arrive: func(w *world) {
			w.ready()
			w.cloud.Swallow = errBoom
			w.fail("Delete", errBoom)
			w.delete()
			w.mustPass()
		},
		want: [...]status.Status{terminating, terminating, terminating},
	},
	"DeleteFails": {
		reason: "It is tried again.",
		arrive: func(w *world) { w.ready(); w.fail("Delete", errBoom); w.delete(); w.mustFail() },
		want:   [...]status.Status{terminating, terminating, terminating},
	},
	"DeletionAwaitsOthers": {
		reason: "Another finalizer delays it.",
		arrive: func(w *world) {
			w.ready()
			w.change(func(o resource.Managed) { o.SetFinalizers(append(o.GetFinalizers(), "example.org/backup")) })
			w.delete()
			w.mustPass()
		},
		want: [...]status.Status{terminating, terminating, terminating},
	},
}

// TestMoments brings an object to each point of its life and computes its status with kstatus.
// Then time passes: polls that find nothing new must not change the status, not even between
// two writes of one pass.
func TestMoments(t *testing.T) {
	for name, m := range moments {
		for d, want := range m.want {
			t.Run(name+"/"+dialect(d).String(), func(t *testing.T) {
				w := newWorld(t, dialect(d))
				m.arrive(w)
				arrived, gone := w.now()
				if gone || arrived.is != want {
					t.Fatalf("%s\nkstatus says %s, want %s: %s", m.reason, arrived.is, want, w.describe())
				}
				if m.idle {
					return
				}
				if w.dialect == pair {
					w.agrees(m, want)
				}
				w.rest(m, arrived)
			})
		}
	}
}

// agrees compares the pair of conditions with the result of kstatus: other tools read the pair
// without kstatus.
func (w *world) agrees(m moment, is status.Status) {
	w.Helper()
	want := [2]bool{(is == progressing || is == terminating) && !m.halted, is == failed}
	got := [2]bool{}
	for i, t := range []commonv1.ConditionType{commonv1.TypeReconciling, commonv1.TypeStalled} {
		got[i] = w.condition(t).Status == metav1.ConditionTrue
	}
	if got != want {
		w.Errorf("%s\nReconciling, Stalled are %v, want %v: %s", m.reason, got, want, w.describe())
	}
}

// rest makes polls and compares every version that they store.
func (w *world) rest(m moment, arrived version) {
	w.Helper()
	poll := m.poll
	if poll == 0 {
		poll = time.Minute
	}
	since := len(w.versions)
	for range polls {
		w.clock.SetTime(w.clock.Now().Add(poll))
		_ = w.pass() // it may fail for as long as the moment lasts
	}
	for i, v := range w.versions[since:] {
		if v != arrived {
			w.Errorf("%s\nversion %d of %d polls is %+v, it was %+v: %s", m.reason, i, polls, v, arrived, w.describe())
		}
	}
}

// TestAReadyObjectIsNotWritten checks that polls of a ready object store no version: an object that is not written
// cannot flap.
func TestAReadyObjectIsNotWritten(t *testing.T) {
	for d := range dialects {
		t.Run(dialects[d], func(t *testing.T) {
			w := newWorld(t, dialect(d))
			w.ready()
			since := len(w.versions)
			for range polls {
				w.later()
				w.mustPass()
			}
			if n := len(w.versions) - since; n != 0 {
				t.Errorf("%d polls stored %d versions", polls, n)
			}
		})
	}
}

// TestALife follows one object through all its stored versions: a watch sees each state once.
func TestALife(t *testing.T) {
	cases := map[dialect][]status.Status{
		conditions: {current, progressing, current, terminating},
		generation: {current, progressing, current, progressing, current, terminating},
		pair:       {current, progressing, current, progressing, current, failed, current, terminating},
	}
	for d, want := range cases {
		t.Run(d.String(), func(t *testing.T) {
			w := newWorld(t, d)
			w.slow = true
			w.create()
			for range 3 {
				w.mustPass()
				w.later()
			}
			w.slow = false
			w.mustPass()
			w.resize(2)
			w.mustPass()
			w.fail("Update", external.Terminal("Quota", errBoom))
			w.drift(1)
			w.later()
			w.mustPass()
			w.cloud.Before = nil
			w.later()
			w.mustPass()
			w.delete()
			w.later()
			w.mustPass()
			if _, gone := w.now(); !gone {
				t.Errorf("the object is still there: %s", w.describe())
			}
			if diff := cmp.Diff(want, statuses(w.versions)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestADefaultShowsThatThereWasNoPass shows what a CRD can do for an object that was not
// reconciled yet: the default of status.observedGeneration is -1.
func TestADefaultShowsThatThereWasNoPass(t *testing.T) {
	w := newWorld(t, pair)
	w.create()
	o := w.object()
	// a pair is of snapshots
	o.(*volume.Snapshot).Status.ObservedGeneration = -1
	w.Must(w.API.Status().Update(t.Context(), o))
	if v, _ := w.now(); v.is != progressing {
		t.Errorf("before the first pass: %s", v.is)
	}
	w.mustPass()
	if v, _ := w.now(); v.is != current {
		t.Errorf("after a pass: %s: %s", v.is, w.describe())
	}
}

// TestStalledSaysWhy checks that Stalled has the reason that the author gave the error.
func TestStalledSaysWhy(t *testing.T) {
	w := newWorld(t, pair)
	w.ready()
	w.fail("Update", external.Terminal("QuotaExceeded", errors.New("no more than 5 GiB")))
	w.resize(9)
	w.mustPass()
	if got := w.condition(commonv1.TypeStalled); got.Status != metav1.ConditionTrue || got.Reason != "QuotaExceeded" {
		t.Errorf("Stalled is %s with reason %q, want True with the reason of the error", got.Status, got.Reason)
	}
	if got := w.condition(commonv1.TypeReconciling); got.Status != metav1.ConditionFalse {
		t.Errorf("Reconciling is %s, want False", got.Status)
	}
}
