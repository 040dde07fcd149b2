package clientmanager

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ClientManagerOf is a ClientManager of clusters of type O, of which a function tells when
// they were connected to. Make one with NewClientManagerFunc; its methods may be called
// concurrently.
type ClientManagerOf[C any, O KeyableObject] struct {
	*ClientManager[C]

	connectedAt func(cluster O) *metav1.MicroTime
}

// NewClientManagerFunc is NewClientManager for clusters that do not tell by themselves when
// they were connected to. The function does, or returns nil if there is no client; it is not
// called with a cluster that is nil.
func NewClientManagerFunc[C any, O KeyableObject](clientProvider ClientProvider[C], connectedAt func(cluster O) *metav1.MicroTime) *ClientManagerOf[C, O] {
	return &ClientManagerOf[C, O]{ClientManager: NewClientManager(clientProvider), connectedAt: connectedAt}
}

// GetK8sClient is that of ClientManager.
func (m *ClientManagerOf[C, O]) GetK8sClient(obj KeyableObject, cluster O) (C, error) {
	return m.ClientManager.GetK8sClient(obj, m.connected(cluster))
}

// Refresh is that of ClientManager.
func (m *ClientManagerOf[C, O]) Refresh(obj KeyableObject, cluster O) bool {
	return m.ClientManager.Refresh(obj, m.connected(cluster))
}

// connected returns nil for a cluster that is.
func (m *ClientManagerOf[C, O]) connected(cluster O) ConnectedCluster {
	if isNil(cluster) {
		return nil
	}

	return connectedAt{KeyableObject: cluster, at: m.connectedAt(cluster)}
}

// connectedAt is a cluster with the time of its connection.
type connectedAt struct {
	KeyableObject

	at *metav1.MicroTime
}

// GetConnectedAt returns the time.
func (c connectedAt) GetConnectedAt() *metav1.MicroTime { return c.at }
