package clientmanager_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters/clientmanager"
)

type cluster struct {
	metav1.ObjectMeta

	connectedAt metav1.MicroTime
}

// GetConnectedAt returns the time, and panics for nil.
func (c *cluster) GetConnectedAt() *metav1.MicroTime { return &c.connectedAt }

func Example() {
	provider := clientmanager.NewFakeClientProvider("the first client")
	manager := clientmanager.NewClientManager(provider)
	_, at, _ := provider.GetK8sClient(types.NamespacedName{Name: "default"})
	home := &cluster{metav1.ObjectMeta{Name: "default"}, at}
	forward := &metav1.ObjectMeta{Name: "port-forward"}

	fmt.Println(manager.Refresh(forward, home))
	fmt.Println(manager.GetK8sClient(forward, home))

	home.connectedAt = provider.SetK8sClient(types.NamespacedName{Name: "default"}, "the second client")
	fmt.Println(manager.Refresh(forward, home))
	fmt.Println(manager.GetK8sClient(forward, home))
	// Output:
	// false
	// the first client <nil>
	// true
	// the second client <nil>
}

// A foreignCluster has no method GetConnectedAt.
type foreignCluster struct {
	metav1.ObjectMeta

	Status struct{ ConnectedAt *metav1.MicroTime }
}

func ExampleNewClientManagerFunc() {
	provider := clientmanager.NewFakeClientProvider("a client")
	manager := clientmanager.NewClientManagerFunc(provider, func(c *foreignCluster) *metav1.MicroTime {
		return c.Status.ConnectedAt
	})
	forward := &metav1.ObjectMeta{Name: "port-forward"}

	_, at, _ := provider.GetK8sClient(types.NamespacedName{Name: "default"})
	home := &foreignCluster{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	home.Status.ConnectedAt = &at
	fmt.Println(manager.GetK8sClient(forward, home))

	fmt.Println(manager.RefreshGone(forward, types.NamespacedName{Name: "default"}))
	fmt.Println(manager.GetK8sClient(forward, nil))
	// Output:
	// a client <nil>
	// true
	//  cluster client does not exist
}
