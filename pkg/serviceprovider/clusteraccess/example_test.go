package clusteraccess_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

// Without a platform, a kubeconfig leads to the control plane of all objects.
func ExampleNewStatic() {
	kubeconfig, err := clusters.New("east").WithRESTConfig(&rest.Config{Host: "https://east.example",
		BearerToken: "secret"}).WriteKubeconfig()
	if err != nil {
		fmt.Println(err)

		return
	}
	access, err := clusteraccess.NewStatic(scheme.Scheme, map[string][]byte{serviceprovider.ClusterMCP: kubeconfig})
	if err != nil {
		fmt.Println(err)

		return
	}
	defer access.Close()
	var provider clusteraccess.Provider = access
	mcp, err := provider.MCPCluster(context.Background(), reconcile.Request{})
	fmt.Println(mcp.APIServerEndpoint(), err)
	// Output: https://east.example <nil>
}
