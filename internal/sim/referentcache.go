package sim

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// referentLag is the lag of the watch of referents, which are objects that other objects refer to.
const referentLag = 2 * time.Second

// A referents is the cache of a process for the kind that its objects refer to, if that is another kind. Its watch has
// its own lag. It is a cache.Cache with the informer of that kind.
type referents struct {
	crcache.Cache // has nothing else

	of *cache

	mu  sync.Mutex // handlers are added on other goroutines
	new []toolscache.ResourceEventHandler
	all []toolscache.ResourceEventHandler
}

// refers adds the cache of referents to the process if its objects refer to another kind, and starts the notifications
// to the reconciler.
func (p *process) refers(of *managed.Reconciler) {
	w := p.world
	if w.config.refers.Empty() {
		return
	}
	p.referents = &referents{of: newCache(w.server, w.config.refers, referentLag, 0)}
	_ = of.References(p.referents).Start(p.ctx, waker{process: p}) // it fails only without a cache
}

// cacheOf returns the cache of the process for a kind, or nil.
func (p *process) cacheOf(kind schema.GroupVersionKind) *cache {
	switch {
	case kind == p.cache.kind:
		return p.cache
	case p.referents != nil && kind == p.referents.of.kind:
		return p.referents.of
	default:
		return nil
	}
}

// nextEvent returns the time of the next event of the process.
func (p *process) nextEvent() (time.Time, bool) {
	at, ok := p.cache.next()
	if p.referents == nil {
		return at, ok
	}
	if other, comes := p.referents.of.next(); comes && (!ok || other.Before(at)) {
		return other, true
	}

	return at, ok
}

// GetInformer returns the informer of the kind.
func (r *referents) GetInformer(context.Context, client.Object, ...crcache.InformerGetOption) (crcache.Informer,
	error) {
	return informer{of: r}, nil
}

// An informer sends events of the referents.
type informer struct {
	crcache.Informer // nothing else is asked of it

	of *referents
}

// AddEventHandler adds a handler for all existing objects, and then for changes.
func (i informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration,
	error) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	i.of.new = append(i.of.new, h)

	return nil, nil
}

// RemoveEventHandler does nothing: it is called at the end of the process.
func (informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error { return nil }

// IsStopped returns false.
func (informer) IsStopped() bool { return false }

// deliver sends the due events to all handlers.
func (r *referents) deliver(now time.Time) {
	if r == nil {
		return
	}
	if len(r.all) == 0 {
		wait(time.Nanosecond) // handlers are added before anything else happens
	}
	for _, h := range r.begin() {
		for _, key := range sortedKeys(r.of.objects) {
			h.OnAdd(r.of.objects[key], true)
		}
	}
	r.of.deliver(now, func(n notice) {
		for _, h := range r.all {
			n.notify(h)
		}
	})
}

// begin returns the handlers that were added since its last call.
func (r *referents) begin() []toolscache.ResourceEventHandler {
	r.mu.Lock()
	defer r.mu.Unlock()
	begun := r.new
	r.new, r.all = nil, slices.Concat(r.all, begun)

	return begun
}

// notify calls a handler as an informer does.
func (n notice) notify(h toolscache.ResourceEventHandler) {
	switch {
	case n.tombstone:
		h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: n.Key.String(), Obj: n.Object})
	case n.Type == apiserver.Deleted:
		h.OnDelete(n.Object)
	case n.Old == nil:
		h.OnAdd(n.Object, false)
	default:
		h.OnUpdate(n.Old, n.Object)
	}
}

// hash returns the hash of the cached referents, and of how far the cache lags.
func (r *referents) hash() uint64 {
	if r == nil {
		return 0
	}
	sum := uint64(len(r.of.server.Changes(0)) - r.of.read)
	for _, is := range []bool{time.Now().Before(r.of.frozen), r.of.broken, len(r.all) > 0} {
		sum = mixed(sum, bit(is))
	}
	for _, key := range sortedKeys(r.of.objects) {
		sum = mixed(sum, hashed(key.Name, r.says(key)))
	}

	return sum
}

// says returns what the process knows of a referent.
func (r *referents) says(key types.NamespacedName) string {
	o := r.of.objects[key]
	if o == nil {
		return ""
	}

	return string(o.GetUID()) + externalName(o)
}
