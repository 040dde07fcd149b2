package v1alpha1_test

import (
	"encoding/json"
	"fmt"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
)

// A provider requests access to the cluster of a ClusterRequest, with a token that has the permissions of a role.
func Example() {
	edit := clustersv1alpha1.RoleRef{Kind: "ClusterRole", Name: "edit"}
	r := clustersv1alpha1.AccessRequestSpec{
		RequestRef: &clustersv1alpha1.ObjectReference{Namespace: "mcp--1", Name: "fleet"},
		Token:      &clustersv1alpha1.TokenConfig{RoleRefs: []clustersv1alpha1.RoleRef{edit}},
	}
	out, err := json.Marshal(r)
	fmt.Println(string(out))
	fmt.Println(err)
	// Output:
	// {"requestRef":{"name":"fleet","namespace":"mcp--1"},"token":{"roleRefs":[{"kind":"ClusterRole","name":"edit"}]}}
	// <nil>
}
