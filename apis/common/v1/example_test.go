package v1_test

import (
	"fmt"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

func Example() {
	// A kind embeds the conditions inline in its status.
	type BucketStatus struct {
		commonv1.ConditionedStatus `json:",inline"`
	}

	var status BucketStatus

	status.SetConditions(commonv1.Creating(), commonv1.ReconcileSuccess())
	status.SetConditions(commonv1.Available().WithMessage("the bucket is usable"))

	ready := status.GetCondition(commonv1.TypeReady)
	fmt.Println(ready.Status, ready.Reason, ready.Message)
	fmt.Println(status.GetCondition("BackedUp").Status)
	// Output:
	// True Available the bucket is usable
	// Unknown
}
