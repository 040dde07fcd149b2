package v1_test

import (
	"fmt"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

func Example() {
	// A kind embeds the conditions inline in its status.
	type BerthStatus struct {
		commonv1.ConditionedStatus `json:",inline"`
	}

	var status BerthStatus

	status.SetConditions(commonv1.Creating(), commonv1.ReconcileSuccess())
	status.SetConditions(commonv1.Available().WithMessage("the ship is tied up"))

	ready := status.GetCondition(commonv1.TypeReady)
	fmt.Println(ready.Status, ready.Reason, ready.Message)
	fmt.Println(status.GetCondition("Refuelled").Status)
	// Output:
	// True Available the ship is tied up
	// Unknown
}
