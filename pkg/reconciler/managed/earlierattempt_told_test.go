package managed

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
)

// TestANewAttemptComesAfterWhatWasGivenUp verifies that a new attempt is later than an abandoned one that only the
// condition has.
func TestANewAttemptComesAfterWhatWasGivenUp(t *testing.T) {
	mg := bearing(nil)
	mg.SetConditions(commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionFalse, Reason: commonv1.ReasonGivenUp,
		Message: objectstate.CreationRef{Mark: second}.String(),
	})
	if got := passOf(mg, &objectState{}).newAttempt(); attempt.Number(got) != noon.Add(time.Hour).Unix()+1 {
		t.Errorf("%s does not come after %s", got, second)
	}
}

// TestACopiedRecordIsNotEarlierThanItsStatus verifies that a copy of a whole object, with its status, has no
// earlier record.
func TestACopiedRecordIsNotEarlierThanItsStatus(t *testing.T) {
	mg := bearing(map[string]string{
		meta.AnnotationKeyCreateAttempt: foreignID, meta.AnnotationKeyExternalCreatePending: early,
	})
	mg.SetConditions(commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Reason: commonv1.ReasonObserved,
		LastTransitionTime: metav1.NewTime(noon),
		Message:            objectstate.CreationRef{Mark: foreignID + "/succeeded", Name: "vol-1"}.String(),
	})
	if passOf(mg, &objectState{}).earlier() {
		t.Error("the record of another object is taken for an earlier one")
	}
}
