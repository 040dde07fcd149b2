package clusters

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Source lets a controller look at its objects when the connection to a cluster was
// replaced, or can be had, or was lost: those users of this kind that have asked for
// it. It fires when the provider says so (see Notifier), and when Changed is called.
func (m *Manager[C]) Source(kind string) source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		fire := func(key Key) {
			for _, u := range m.Users(key) {
				if u.Kind == kind {
					q.Add(reconcile.Request{NamespacedName: u.Key})
				}
			}
		}
		stops := []func(){m.listen(fire)}
		if m.notifier != nil {
			stops = append(stops, m.notifier.Listen(fire))
		}
		context.AfterFunc(ctx, func() {
			for _, stop := range stops {
				stop()
			}
		})

		return nil
	})
}

// Changed wakes the users of a cluster, for providers that do not say by themselves
// when something has changed.
func (m *Manager[C]) Changed(key Key) {
	m.mu.Lock()
	told := make([]func(Key), 0, len(m.listeners))
	for l := range m.listeners {
		told = append(told, *l)
	}
	m.mu.Unlock()
	for _, changed := range told {
		changed(key)
	}
}

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
