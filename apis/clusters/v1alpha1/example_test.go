package v1alpha1_test

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

func Example() {
	c := clustersv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "east"},
		Spec: clustersv1alpha1.ClusterSpec{SecretRef: &commonv1.LocalSecretKeySelector{
			LocalSecretReference: commonv1.LocalSecretReference{Name: "east-admin"}, Key: "kubeconfig",
		}},
	}
	out, err := json.Marshal(c.Spec)
	fmt.Println(string(out), err)
	fmt.Println(c.GetCondition(commonv1.TypeConnected).Status, c.GetConnectedAt())
	// Output:
	// {"secretRef":{"name":"east-admin","key":"kubeconfig"}} <nil>
	// Unknown <nil>
}
