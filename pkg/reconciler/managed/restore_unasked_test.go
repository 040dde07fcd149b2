package managed

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAFailedPreparationIsNotStored verifies that changes of a failed preparation are not stored with the restored
// record, and that its own writes stay.
func TestAFailedPreparationIsNotStored(t *testing.T) {
	boom := errors.New("boom")
	for name, restored := range map[string]bool{"put back": true, "nothing to put back": false} {
		w := newStored(bearing(map[string]string{
			"example.org/kept": "as it was", "example.org/removed": "as it was",
		}), remembering())
		if w.restored = restored; restored {
			meta.AddAnnotations(w.mg, map[string]string{meta.AnnotationKeyCreateAttempt: ownDone})
			meta.RemoveAnnotations(w.mg, "example.org/removed")
		}
		w.r.initializers = []Initializer{InitializerFn(func(_ context.Context, mg resource.Managed) error {
			meta.AddAnnotations(mg, map[string]string{
				"example.org/kept": "changed", "example.org/half": "done",
				meta.AnnotationKeyCreateAttempt: "another",
			})

			return boom
		})}
		err := w.pass.observe(t.Context())
		if !errors.Is(err, boom) || stageOf(err) != initializing {
			t.Errorf("%s: it ended with %v", name, err)
		}
		want := `{"metadata":{"annotations":{"example.org/removed":null,"moorage.dev/create-attempt":"` + ownDone +
			`"},"finalizers":["` + FinalizerName + `"],"resourceVersion":"7","uid":"uid-1"}}`
		if sent := w.writes.sent; restored != (len(sent) == 1) || restored && sent[0] != want {
			t.Errorf("%s: sent %v, want %s", name, sent, want)
		}
	}
}

// TestWhatIsNotStoredBesideAFailedPreparation verifies that a restored record that cannot be stored is reported.
func TestWhatIsNotStoredBesideAFailedPreparation(t *testing.T) {
	lost := errors.New("lost")
	w := newStored(bearing(nil), remembering())
	w.restored, w.writes.answer = true, func() error { return lost }
	meta.AddAnnotations(w.mg, map[string]string{meta.AnnotationKeyCreateAttempt: ownDone})
	w.r.initializers = []Initializer{InitializerFn(func(context.Context,
		resource.Managed) error {
		return errors.New("boom")
	})}
	if err := w.pass.observe(t.Context()); !errors.Is(err, lost) || stageOf(err) != updatingObject {
		t.Errorf("it ended with %v", err)
	}
}

// TestWhatIsStoredOfAPausedObject verifies that only annotations without a copy in the status are restored on a
// paused object.
func TestWhatIsStoredOfAPausedObject(t *testing.T) {
	begun := map[string]string{meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early}
	made := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalName: "vol-1"}
	system := map[string]string{meta.AnnotationKeyBackendIdentity: "east"}
	cases := map[string]struct {
		reason   string
		putBack  map[string]string
		restored bool
		stored   map[string]string // before
		created  string            // by the condition Created
		running  bool              // it is not paused
		stores   bool
	}{
		"Unknown": {"nobody else knows of the attempt", begun, true, nil, "", false, true},
		"Unseen":  {"nor of what does not show yet", made, true, nil, "", false, true},
		"Other": {"nor if the status tells of another one", made, true, nil, foreignID + `/succeeded of "vol-1"`,
			false, true},
		"Told":   {"the status tells it", made, true, nil, ownDone + ` of "vol-1"`, false, false},
		"System": {"it does not tell the external system", system, true, nil, "", false, true},
		"Both": {"what the object tells itself of the system need not be stored", made, true, system,
			ownDone + ` of "vol-1"`, false, false},
		"Chosen": {"a name of our choice is known to any process",
			map[string]string{meta.AnnotationKeyExternalName: "data"}, true, nil, "", false, false},
		"Held":    {"only the finalizer was taken", nil, true, made, "", false, false},
		"Nothing": {"nothing was taken", nil, false, made, "", false, false},
		"Running": {"what is not paused is put back as a whole", nil, true, made, ownDone + ` of "vol-1"`, true, true},
	}
	for name, tc := range cases {
		mg := bearing(tc.stored)
		if !tc.running {
			meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
		}
		if tc.created != "" {
			mg.SetConditions(commonv1.Condition{
				Type: commonv1.TypeCreated, Status: metav1.ConditionTrue,
				Reason: commonv1.ReasonObserved, Message: tc.created,
			})
		}
		w := newStored(mg, remembering())
		meta.AddAnnotations(w.mg, tc.putBack)
		w.restored = tc.restored
		if err := w.storeRestoredUnlessPaused(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if stores := len(w.writes.sent) == 1; stores != tc.stores {
			t.Errorf("%s: %s: sent %v", name, tc.reason, w.writes.sent)
		}
	}
}
