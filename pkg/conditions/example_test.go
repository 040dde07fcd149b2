package conditions_test

import (
	"fmt"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/conditions"
)

func Example() {
	base := commonv1.NewConditionedStatus(commonv1.Creating(), commonv1.ReconcileSuccess())

	mine := base.DeepCopy()
	mine.SetConditions(commonv1.Available())
	conditions.Stamp(mine, 7, commonv1.TypeReady)

	// Meanwhile another writer has added a condition.
	newest := base.DeepCopy()
	newest.SetConditions(commonv1.Condition{Type: "BackedUp", Status: "True", Reason: "Nightly"})

	for _, c := range conditions.Merge(base.Conditions, mine.Conditions, newest.Conditions) {
		fmt.Println(c.Type, c.Status, c.Reason, c.ObservedGeneration)
	}
	// Output:
	// Ready True Available 7
	// Synced True ReconcileSuccess 0
	// BackedUp True Nightly 0
}
