package connect

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// Refusals are the connections whose credentials a server did not accept from whoever
// uses them.
type refusals struct {
	mu    sync.Mutex
	noted map[clusters.Key]clusters.Revision
	told  map[clusters.Key]clusters.Revision // what was heeded: each revision is once
	wake  func(clusters.Key)                 // nil before the controller runs
}

func newRefusals() *refusals {
	return &refusals{noted: map[clusters.Key]clusters.Revision{}, told: map[clusters.Key]clusters.Revision{}}
}

// note lets a cluster be looked at now. Once is enough for a revision: if its Secret is
// still the same, the probes and the recheck interval see to the rest.
func (f *refusals) note(key clusters.Key, rev clusters.Revision) {
	f.mu.Lock()
	heeded := f.told[key] == rev
	if !heeded {
		f.noted[key], f.told[key] = rev, rev
	}
	wake := f.wake
	f.mu.Unlock()
	if !heeded && wake != nil {
		wake(key)
	}
}

// take reports whether a revision was refused since this was asked last.
func (f *refusals) take(key clusters.Key, rev clusters.Revision) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	noted, ok := f.noted[key]
	delete(f.noted, key)

	return ok && noted == rev
}

func (f *refusals) forget(key clusters.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.noted, key)
	delete(f.told, key)
}

// source leads to clusters that have refused somebody.
func (f *refusals) source() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		f.mu.Lock()
		f.wake = func(key clusters.Key) { q.Add(reconcile.Request{NamespacedName: key}) }
		f.mu.Unlock()
		context.AfterFunc(ctx, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.wake = nil
		})

		return nil
	})
}
