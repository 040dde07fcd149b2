package clientmanager_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	cm "github.com/moorage-dev/moorage/pkg/clusters/clientmanager"
)

// The names that existing controllers use, with their client in place of C: if this does not
// compile, neither do they.
type seedClient interface{ Pods() []string }

type seedProvider interface {
	GetK8sClient(clusterKey types.NamespacedName) (seedClient, metav1.MicroTime, error)
}

type (
	seedManager = cm.ClientManager[seedClient]
	seedFake    = cm.FakeClientProvider[seedClient]
)

var (
	_ error                                                                         = cm.NotFoundError
	_ error                                                                         = cm.StaleClientError
	_ cm.ClientProvider[seedClient]                                                 = seedProvider(nil)
	_ seedProvider                                                                  = cm.ClientProvider[seedClient](nil)
	_ func(cm.ClientProvider[seedClient]) *seedManager                              = cm.NewClientManager[seedClient]
	_ func(*seedManager, cm.KeyableObject, cm.ConnectedCluster) (seedClient, error) = (*seedManager).GetK8sClient
	_ func(*seedManager, cm.KeyableObject, cm.ConnectedCluster) bool                = (*seedManager).Refresh
	_ func(seedClient) *seedFake                                                    = cm.NewFakeClientProvider[seedClient]
	_ func(*seedFake, types.NamespacedName, seedClient) (bool, metav1.MicroTime)    = (*seedFake).AddK8sClient
	_ func(*seedFake, types.NamespacedName) (seedClient, metav1.MicroTime, error)   = (*seedFake).GetK8sClient
	_ func(*seedFake, types.NamespacedName, error)                                  = (*seedFake).SetClusterError
	_ func(*seedFake, types.NamespacedName, seedClient) metav1.MicroTime            = (*seedFake).SetK8sClient
	_ cm.ConnectedCluster                                                           = &clustersv1alpha1.Cluster{}
)
