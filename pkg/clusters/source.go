package clusters

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Source returns a source that enqueues the users of a kind for their controller. It enqueues the users of a cluster
// when the connection to this cluster was replaced, became available or was lost. These changes are reported by the
// provider, if the provider is a Notifier, and by calls of Changed.
func (m *Manager[C]) Source(kind string) source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		enqueue := func(key Key) {
			for _, u := range m.Users(key) {
				if u.Kind == kind {
					q.Add(reconcile.Request{NamespacedName: u.Key})
				}
			}
		}
		stops := []func(){m.listen(enqueue)}
		if m.notifier != nil {
			stops = append(stops, m.notifier.Listen(enqueue))
		}
		context.AfterFunc(ctx, func() {
			for _, stop := range stops {
				stop()
			}
		})

		return nil
	})
}

// Changed enqueues the users of a cluster. Call it if the provider is not a Notifier.
func (m *Manager[C]) Changed(key Key) {
	m.mu.Lock()
	listeners := make([]func(Key), 0, len(m.listeners))
	for l := range m.listeners {
		listeners = append(listeners, *l)
	}
	m.mu.Unlock()
	for _, changed := range listeners {
		changed(key)
	}
}

// listen adds a listener for Changed.
func (m *Manager[C]) listen(changed func(Key)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners[&changed] = struct{}{}

	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, &changed)
	}
}
