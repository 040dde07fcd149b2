package clientmanager

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ClientManagerOf is a ClientManager whose clusters have the type O. A function, instead of a method of O, returns
// the connection time of a cluster. Make one with NewClientManagerFunc. Its methods may be called concurrently.
type ClientManagerOf[C any, O KeyableObject] struct {
	*ClientManager[C]

	connectedAt func(cluster O) *metav1.MicroTime
}

// NewClientManagerFunc is like NewClientManager, but for clusters without a method GetConnectedAt. The function
// connectedAt returns the connection time of a cluster, or nil if there is no client. It is not called for a nil
// cluster.
func NewClientManagerFunc[C any, O KeyableObject](
	clientProvider ClientProvider[C], connectedAt func(cluster O) *metav1.MicroTime,
) *ClientManagerOf[C, O] {
	return &ClientManagerOf[C, O]{ClientManager: NewClientManager(clientProvider), connectedAt: connectedAt}
}

// GetK8sClient calls ClientManager.GetK8sClient.
func (m *ClientManagerOf[C, O]) GetK8sClient(obj KeyableObject, cluster O) (C, error) {
	return m.ClientManager.GetK8sClient(obj, m.withConnectedAt(cluster))
}

// Refresh calls ClientManager.Refresh.
func (m *ClientManagerOf[C, O]) Refresh(obj KeyableObject, cluster O) bool {
	return m.ClientManager.Refresh(obj, m.withConnectedAt(cluster))
}

// withConnectedAt returns the cluster with its connection time, or nil for a nil cluster.
func (m *ClientManagerOf[C, O]) withConnectedAt(cluster O) ConnectedCluster {
	if isNil(cluster) {
		return nil
	}

	return connectedAt{KeyableObject: cluster, at: m.connectedAt(cluster)}
}

// connectedAt is a cluster with its time of connection.
type connectedAt struct {
	KeyableObject

	at *metav1.MicroTime
}

// GetConnectedAt returns the time.
func (c connectedAt) GetConnectedAt() *metav1.MicroTime { return c.at }
