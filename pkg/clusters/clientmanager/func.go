package clientmanager

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ClientManagerOf is a ClientManager of clusters of type O, whose time of connection a
// function returns. Make one with NewClientManagerFunc; its methods may be called
// concurrently.
type ClientManagerOf[C any, O KeyableObject] struct {
	*ClientManager[C]

	connectedAt func(cluster O) *metav1.MicroTime
}

// NewClientManagerFunc is NewClientManager for clusters without a method GetConnectedAt.
// The function connectedAt returns the time, or nil if there is no client. It is not
// called with a nil cluster.
func NewClientManagerFunc[C any, O KeyableObject](
	clientProvider ClientProvider[C], connectedAt func(cluster O) *metav1.MicroTime,
) *ClientManagerOf[C, O] {
	return &ClientManagerOf[C, O]{ClientManager: NewClientManager(clientProvider), connectedAt: connectedAt}
}

// GetK8sClient calls GetK8sClient of ClientManager.
func (m *ClientManagerOf[C, O]) GetK8sClient(obj KeyableObject, cluster O) (C, error) {
	return m.ClientManager.GetK8sClient(obj, m.withConnectedAt(cluster))
}

// Refresh calls Refresh of ClientManager.
func (m *ClientManagerOf[C, O]) Refresh(obj KeyableObject, cluster O) bool {
	return m.ClientManager.Refresh(obj, m.withConnectedAt(cluster))
}

// withConnectedAt returns the cluster with its time of connection, nil for a nil cluster.
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
