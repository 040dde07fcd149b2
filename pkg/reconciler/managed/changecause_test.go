package managed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// TestCauses verifies the cause of each combination of facts.
func TestCauses(t *testing.T) {
	type row struct {
		reason string
		want   changelog.Cause
	}
	const again = true
	want := map[changeFacts]row{
		{changelog.OperationCreate, telemetry.Same, false}:    {"nothing existed", changelog.CauseCreated},
		{changelog.OperationCreate, telemetry.Same, again}:    {"the first Create had no effect", changelog.CauseRetry},
		{changelog.OperationCreate, telemetry.Missing, false}: {"it was counted as missing", changelog.CauseMissing},
		{changelog.OperationCreate, telemetry.Missing, again}: {"counted once more", changelog.CauseMissing},
		{changelog.OperationCreate, telemetry.Differs, false}: {"a change was counted, no loss", changelog.CauseCreated},
		{changelog.OperationCreate, telemetry.Differs, again}: {"a change was counted, no loss", changelog.CauseRetry},
		{changelog.OperationUpdate, telemetry.Same, false}:    {"the spec is not applied yet", changelog.CauseSpec},
		{changelog.OperationUpdate, telemetry.Same, again}:    {"the first Update had no effect", changelog.CauseRetry},
		{changelog.OperationUpdate, telemetry.Missing, false}: {"a loss was counted, no change", changelog.CauseSpec},
		{changelog.OperationUpdate, telemetry.Missing, again}: {"a loss was counted, no change", changelog.CauseRetry},
		{changelog.OperationUpdate, telemetry.Differs, false}: {"it was counted as changed", changelog.CauseDrift},
		{changelog.OperationUpdate, telemetry.Differs, again}: {"counted once more", changelog.CauseDrift},
		{changelog.OperationDelete, telemetry.Same, false}:    {"the object is deleted", changelog.CauseDeleted},
		{changelog.OperationDelete, telemetry.Same, again}:    {"the first Delete had no effect", changelog.CauseRetry},
		{changelog.OperationDelete, telemetry.Missing, false}: {"the object is deleted", changelog.CauseDeleted},
		{changelog.OperationDelete, telemetry.Missing, again}: {"the first Delete had no effect", changelog.CauseRetry},
		{changelog.OperationDelete, telemetry.Differs, false}: {"the object is deleted", changelog.CauseDeleted},
		{changelog.OperationDelete, telemetry.Differs, again}: {"the first Delete had no effect", changelog.CauseRetry},
	}
	n := 0
	for operation := range changedBy {
		for _, drift := range []telemetry.Finding{telemetry.Same, telemetry.Differs, telemetry.Missing} {
			for _, repeated := range []bool{false, true} {
				f := changeFacts{operation, drift, repeated}
				if got, w := causeOf(f), want[f]; got != w.want {
					t.Errorf("%+v: %q, want %q: %s", f, got, w.want, w.reason)
				}
				n++
			}
		}
	}
	if n != len(want) {
		t.Errorf("%d combinations, and %d rows", n, len(want))
	}
}

// TestEarlierTries verifies what an object says of the operations of an earlier process.
func TestEarlierTries(t *testing.T) {
	condition := func(kind commonv1.ConditionType, status metav1.ConditionStatus, reason commonv1.ConditionReason,
		generation int64) commonv1.Condition {
		return commonv1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: generation}
	}
	upToDate := func(reason commonv1.ConditionReason, generation int64) commonv1.Condition {
		return condition(commonv1.TypeUpToDate, metav1.ConditionFalse, reason, generation)
	}
	failed := condition(commonv1.TypeSynced, metav1.ConditionFalse, commonv1.ReasonReconcileError, 3)
	const create, update = changelog.OperationCreate, changelog.OperationUpdate
	for name, tc := range map[string]struct {
		reason     string
		operation  changelog.Operation
		attempt    string
		repeats    bool
		conditions []commonv1.Condition
		want       bool
	}{
		"UpdateFailed": {
			"the status says so", update, "", false, []commonv1.Condition{upToDate(commonv1.ReasonUpdateFailed, 3)}, true,
		},
		"NoEffect": {
			"the status says so", update, "", false, []commonv1.Condition{upToDate(commonv1.ReasonUpdateRequested, 3)}, true,
		},
		"Tolerated": {
			"no Update was tried", update, "", false,
			[]commonv1.Condition{upToDate(commonv1.ReasonUpdateRestricted, 3)}, false,
		},
		"OfFormerSpec": {
			"the spec has changed", update, "", false,
			[]commonv1.Condition{upToDate(commonv1.ReasonUpdateFailed, 2)}, false,
		},
		"UpToDate": {
			"it was as desired since", update, "", false, []commonv1.Condition{
				condition(commonv1.TypeUpToDate, metav1.ConditionTrue, commonv1.ReasonObserveMatched, 3),
			}, false,
		},
		"NoStatus":      {"nothing is known", update, "", false, nil, false},
		"CreateFailed":  {"the annotation says so", create, attempt.Failed, false, []commonv1.Condition{failed}, true},
		"FailedForever": {"that was for another spec", create, attempt.Failed, false, nil, false},
		"OfAnotherCall": {"no Create has failed", create, attempt.Succeeded, false, []commonv1.Condition{failed}, false},
		"SameToken":     {"the attempt is repeated", create, "", true, nil, true},
		"Delete":        {"no record", changelog.OperationDelete, "", false, []commonv1.Condition{failed}, false},
	} {
		t.Run(name, func(t *testing.T) {
			mg := bearing(nil)
			mg.Generation = 3
			if tc.attempt != "" {
				meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyCreateAttempt: "one"})
				attempt.MarkResult(mg, tc.attempt, noon)
			}
			mg.SetConditions(tc.conditions...)
			p := passOf(mg, &objectState{})
			p.repeatsAttempt = tc.repeats
			want := changeFacts{operation: tc.operation, repeated: tc.want}
			if diff := cmp.Diff(want, p.changeFacts(tc.operation), cmp.AllowUnexported(changeFacts{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
