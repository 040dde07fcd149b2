package connect_test

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/connect"
)

// The main function of a program connects clusters, and its controllers get connections from
// the manager of clusters.
func Example() {
	scheme := runtime.NewScheme()
	if err := clustersv1alpha1.AddToScheme(scheme); err != nil {
		fmt.Println(err)

		return
	}
	m, err := ctrl.NewManager(&rest.Config{Host: "https://home.example"}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: mapper,
	})
	if err != nil {
		fmt.Println(err)

		return
	}
	cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
	defer cache.Close()
	fmt.Println(connect.Setup(m, cache))

	// In a reconciler: read the Cluster, then get the connection.
	east := &clustersv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "east"}}
	app := clusters.User{Kind: "App", Key: client.ObjectKey{Namespace: "default", Name: "app"}}
	_, err = clusters.NewManager(cache).Get(context.Background(), app, connect.Ref(east))
	fmt.Println(err)
	// Output:
	// <nil>
	// cluster client does not exist
}

// mapper returns an empty mapper, because the example has no API server.
func mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return meta.NewDefaultRESTMapper(nil), nil
}
