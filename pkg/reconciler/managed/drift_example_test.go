package managed_test

import (
	"fmt"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A BucketStatus is a status that records conditions and differences.
type BucketStatus struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.DriftStatus       `json:",inline"`
}

// The differences of an observation.
func ExampleExternalObservation() {
	type bucket struct {
		Class string `json:"class,omitempty"`
	}
	differences, err := difference.Between(bucket{Class: "fast"}, bucket{Class: "slow"}, difference.Immutable("class"))
	if err != nil {
		fmt.Println(err)

		return
	}
	observation := managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: len(differences) == 0,
		Differences:      differences,
	}
	fmt.Println(observation.ResourceUpToDate, observation.Differences)

	// The reconciler records them in the status.
	status := BucketStatus{}
	status.SetDrift(&commonv1.Drift{Fields: differences})
	fmt.Println(status.GetDrift().Fields[0].Path)
	// Output:
	// false [{class "fast" "slow" true false}]
	// class
}
