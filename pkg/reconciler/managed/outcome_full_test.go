package managed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// An outcomeText has all parts of an outcome as text.
type outcomeText struct {
	Name                    string
	Ready, Synced, UpToDate string
	Event                   string
	Again                   requeue
	After                   time.Duration
	Progress                progress
}

func inFull(o outcome) outcomeText {
	text := func(c commonv1.Condition) string {
		if c.Type == "" {
			return ""
		}

		return string(c.Type) + " " + string(c.Status) + "/" + string(c.Reason) + ": " + c.Message
	}
	reported := outcomeText{o.name, text(o.ready), text(o.synced), text(o.upToDate), "", o.requeue, o.after, o.progress}
	if o.event.Reason != "" {
		reported.Event = string(o.event.Type) + "/" + string(o.event.Reason) + ": " + o.event.Message
	}

	return reported
}

// TestAnOperationIsReportedByItsPurpose verifies that an object with a pending operation reports Creating or
// Deleting, unless it is ready.
func TestAnOperationIsReportedByItsPurpose(t *testing.T) {
	const text = "waiting for an operation of the external system to end"
	unknown := outcomeText{
		Name: "in-progress", Ready: "Ready False/Creating: ", Synced: "Synced Unknown/CreationPending: " + text,
		Again: adaptive, After: 7 * time.Second, Progress: moving,
	}
	going := unknown
	going.Ready, going.Synced = "Ready False/Deleting: ", "Synced True/ReconcileSuccess: "+text
	stays := going
	stays.Ready = ""
	cases := map[string]struct {
		ready, deleted bool
		want           outcomeText
	}{
		"being made":             {false, false, unknown},
		"changed":                {true, false, stays},
		"deleted":                {true, true, going},
		"deleted, and was never": {false, true, going},
	}
	for name, tc := range cases {
		mg := bearing(nil)
		if tc.ready {
			mg.SetConditions(commonv1.Available())
		}
		if tc.deleted {
			mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}
		p := passOf(mg, &objectState{})
		p.operation = &external.Operation{Handle: "op-1", After: 7 * time.Second}
		if diff := cmp.Diff(tc.want, inFull(p.inProgress())); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// TestATakenNameIsReported verifies that a taken name without a visible resource is reported with instructions and
// its cause.
func TestATakenNameIsReported(t *testing.T) {
	p := passOf(bearing(nil), &objectState{})
	p.alreadyExists = errors.New("409 of the cloud")
	const text = "create failed: the name is taken by something that cannot be seen: look for it, or choose another by " +
		"the annotation " +
		"krateo.io/external-name: 409 of the cloud"
	want := outcomeText{
		Name: "taken", Ready: "Ready False/Creating: ", Synced: "Synced False/ReconcileError: " + text,
		Event: string(event.TypeWarning) + "/CannotCreateExternalResource: " + text, Again: backoff, Progress: stuck,
	}
	if diff := cmp.Diff(want, inFull(refineAwaitingExistence(p, outcomes[awaitingExistence]))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestWhyAnObjectIsNotSettled verifies that the kstatus reason prefers an error to unreadiness, and a wait to a
// stall.
func TestWhyAnObjectIsNotSettled(t *testing.T) {
	synced := unsynced("NotDone", "")
	differs := upToDate(metav1.ConditionFalse, "Differs")
	unready := commonv1.Unavailable()
	conditions := func(c ...commonv1.Condition) []commonv1.Condition { return c }
	cases := map[string]struct {
		conditions           []commonv1.Condition
		progress             progress
		reconciling, stalled string
	}{
		"moving, all is wrong": {conditions(synced, differs, unready), moving, "True/NotDone",
			"False/ReconcileSuccess"},
		"moving, it differs": {conditions(commonv1.ReconcileSuccess(), differs, unready), moving,
			"True/Differs", "False/ReconcileSuccess"},
		"moving, it is not ready": {conditions(commonv1.ReconcileSuccess(), unready), moving, "True/Unavailable",
			"False/ReconcileSuccess"},
		"moving, all is well": {conditions(commonv1.ReconcileSuccess(), commonv1.Available()), moving,
			"True/ReconcileSuccess", "False/ReconcileSuccess"},
		"stuck":                    {conditions(synced), stuck, "False/ReconcileSuccess", "True/NotDone"},
		"settled":                  {conditions(synced), settled, "False/ReconcileSuccess", "False/ReconcileSuccess"},
		"halting, whatever it was": {conditions(synced), halting, "False/ReconcilePaused", "False/ReconcilePaused"},
	}
	for name, tc := range cases {
		mg := &fake.Managed{}
		p := passOf(mg, &objectState{}, WithKstatusConditions())
		mg.SetConditions(tc.conditions...)
		p.setProgress(outcome{progress: tc.progress})
		for kind, want := range map[commonv1.ConditionType]string{
			commonv1.TypeReconciling: tc.reconciling, commonv1.TypeStalled: tc.stalled,
		} {
			if c := mg.GetCondition(kind); string(c.Status)+"/"+string(c.Reason) != want {
				t.Errorf("%s: %s is %s/%s, want %s", name, kind, c.Status, c.Reason, want)
			}
		}
	}
}
