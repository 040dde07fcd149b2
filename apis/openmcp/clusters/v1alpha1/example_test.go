package v1alpha1_test

import (
	"encoding/json"
	"fmt"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
)

// Access to the cluster of a request is asked for with a token that may do what a role
// says.
func Example() {
	r := clustersv1alpha1.AccessRequestSpec{
		RequestRef: &clustersv1alpha1.ObjectReference{Namespace: "mcp--1", Name: "fleet"},
		Token:      &clustersv1alpha1.TokenConfig{RoleRefs: []clustersv1alpha1.RoleRef{{Kind: "ClusterRole", Name: "edit"}}},
	}
	out, err := json.Marshal(r)
	fmt.Println(string(out), err)
	// Output:
	// {"requestRef":{"name":"fleet","namespace":"mcp--1"},"token":{"roleRefs":[{"kind":"ClusterRole","name":"edit"}]}} <nil>
}
