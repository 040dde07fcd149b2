package clusterstest_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	"github.com/moorage-dev/moorage/pkg/errors"
)

func ExampleNewFakeClientProvider() {
	f := clusterstest.NewFakeClientProvider("a client")
	f.SetClusterError(types.NamespacedName{Name: "west"}, errors.New("connection refused"))
	_, _, err := f.GetK8sClient(types.NamespacedName{Name: "west"})
	fmt.Println(err)
	// Output: connection refused
}
