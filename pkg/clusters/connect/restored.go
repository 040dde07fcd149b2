package connect

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
)

// A restoreNotifier is a Cache that replaces connections after restores of API servers.
type restoreNotifier interface {
	clusters.Notifier
	Restored(key clusters.Key) *clusters.Restore
}

// restoreSource returns a source that enqueues clusters whose connection was replaced
// because their API server was restored.
func (r *reconciler) restoreSource() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		from, ok := r.cache.(restoreNotifier)
		if !ok {
			return nil
		}
		context.AfterFunc(ctx, from.Listen(func(key clusters.Key) {
			if from.Restored(key) != nil {
				q.Add(reconcile.Request{NamespacedName: key})
			}
		}))

		return nil
	})
}

// emitRestored emits an event if the connection of a cluster was replaced because its API server was restored. It emits
// one event per restore.
func (r *reconciler) emitRestored(c *clustersv1alpha1.Cluster, known *record) {
	from, ok := r.cache.(restoreNotifier)
	if !ok {
		return
	}
	restore := from.Restored(client.ObjectKeyFromObject(c))
	if restore == nil || restore == known.restored {
		return
	}
	known.restored = restore
	r.options.recorder.Event(c, event.Warning(ReasonConnectionLost, *restore))
}
