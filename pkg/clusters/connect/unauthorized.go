package connect

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// An unauthorizedReports holds the connections whose credentials a server has rejected in a request of a user.
type unauthorizedReports struct {
	mu      sync.Mutex
	pending map[clusters.Key]clusters.Revision
	last    map[clusters.Key]clusters.Revision // the revision reported last: each is reported once
	enqueue func(clusters.Key)                 // nil before the controller runs
}

// newUnauthorizedReports returns empty reports.
func newUnauthorizedReports() *unauthorizedReports {
	return &unauthorizedReports{pending: map[clusters.Key]clusters.Revision{}, last: map[clusters.Key]clusters.Revision{}}
}

// report enqueues a cluster once per revision. If the Secret has not changed, the next probes and the recheck interval
// cover further rejections.
func (f *unauthorizedReports) report(key clusters.Key, rev clusters.Revision) {
	f.mu.Lock()
	known := f.last[key] == rev
	if !known {
		f.pending[key], f.last[key] = rev, rev
	}
	enqueue := f.enqueue
	f.mu.Unlock()
	if !known && enqueue != nil {
		enqueue(key)
	}
}

// take reports whether there is a new report about a revision, and removes it.
func (f *unauthorizedReports) take(key clusters.Key, rev clusters.Revision) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	pending, ok := f.pending[key]
	delete(f.pending, key)

	return ok && pending == rev
}

// forget removes the reports about a cluster.
func (f *unauthorizedReports) forget(key clusters.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pending, key)
	delete(f.last, key)
}

// source returns a source that enqueues the reported clusters.
func (f *unauthorizedReports) source() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		f.mu.Lock()
		f.enqueue = func(key clusters.Key) { q.Add(reconcile.Request{NamespacedName: key}) }
		f.mu.Unlock()
		context.AfterFunc(ctx, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.enqueue = nil
		})

		return nil
	})
}
