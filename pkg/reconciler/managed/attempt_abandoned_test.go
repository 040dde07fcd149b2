package managed

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestAnAbandonedAttemptIsReportedBeforeTheNext verifies that an abandoned attempt is reported in the condition
// Created before the next one is made, and that a repeated attempt is still asked about.
func TestAnAbandonedAttemptIsReportedBeforeTheNext(t *testing.T) {
	text := objectstate.CreationRef{Mark: ownID}.String()
	for name, tc := range map[string]struct {
		reason string
		given  string
		want   commonv1.ConditionReason
		status metav1.ConditionStatus
	}{
		"GivenUp":  {"the user has given it up", ownID, commonv1.ReasonGivenUp, metav1.ConditionFalse},
		"Repeated": {"nobody has", "", commonv1.ReasonUnresolved, metav1.ConditionUnknown},
	} {
		mg := bearing(map[string]string{
			meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early,
			meta.AnnotationKeyAbandonAttempt: tc.given,
		})
		mg.SetConditions(commonv1.Condition{
			Type: commonv1.TypeCreated, Status: metav1.ConditionUnknown,
			Reason: commonv1.ReasonUnresolved, Message: text,
		})
		w := newStored(mg, &objectState{})
		w.r.tokens = true
		if err := w.prepareCreate(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c := w.mg.GetCondition(commonv1.TypeCreated); c.Reason != tc.want || c.Status != tc.status ||
			c.Message != text {
			t.Errorf("%s: %s: the condition is %+v", name, tc.reason, c)
		}
	}
}
