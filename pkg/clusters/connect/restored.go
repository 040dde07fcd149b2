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

// A replacer replaces connections by itself.
type replacer interface {
	clusters.Notifier
	Restored(key clusters.Key) *clusters.Restore
}

// restores leads to clusters whose connection was replaced because their API server was
// restored.
func (r *reconciler) restores() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		from, ok := r.cache.(replacer)
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

// tellRestored records that the connection of a cluster was replaced because its API server
// was restored, once for each time.
func (r *reconciler) tellRestored(c *clustersv1alpha1.Cluster, known *record) {
	from, ok := r.cache.(replacer)
	if !ok {
		return
	}
	why := from.Restored(client.ObjectKeyFromObject(c))
	if why == nil || why == known.restored {
		return
	}
	known.restored = why
	r.o.recorder.Event(c, event.Warning(ReasonConnectionLost, *why))
}
