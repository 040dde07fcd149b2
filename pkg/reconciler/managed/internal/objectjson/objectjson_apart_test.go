package objectjson

import (
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// TestAStatusApartFromItsConditions verifies that a status is encoded as a copy without conditions, if they have
// the usual type.
func TestAStatusApartFromItsConditions(t *testing.T) {
	status := &plainStatus{Size: 5, Conditions: []commonv1.Condition{{Type: "Ready", Status: "True"}}}
	rest, conditions, ok := apart(status)
	copied, _ := rest.(*plainStatus)
	if !ok || copied == nil || copied == status || copied.Size != 5 || copied.Conditions != nil ||
		len(conditions) != 1 || len(status.Conditions) != 1 {
		t.Errorf("apart is %t: %+v and %+v of %+v", ok, rest, conditions, status)
	}
	if rest, conditions, ok := apart(&otherStatus{}); ok || rest != nil || conditions != nil {
		t.Errorf("conditions of another type are apart: %+v, %+v", rest, conditions)
	}
}
