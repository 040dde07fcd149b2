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

// How much later than a change of an object a process hears of one of what it refers to.
const referentLag = 2 * time.Second

// Referents are what a process knows of the kind that its objects refer to, if that is another than their own: by a
// watch of its own, that lags for another time. It is a cache that has the informer of that kind, and tells whoever
// follows it.
type referents struct {
	crcache.Cache // has nothing else

	of *cache

	mu  sync.Mutex // others follow on goroutines of their own
	new []toolscache.ResourceEventHandler
	all []toolscache.ResourceEventHandler
}

// refers lets the process know of what its objects refer to, and the reconciler hear of it, in a world in which that
// is of another kind.
func (p *process) refers(of *managed.Reconciler) {
	w := p.world
	if w.config.refers.Empty() {
		return
	}
	p.referents = &referents{of: newCache(w.server, w.config.refers, referentLag, 0)}
	_ = of.References(p.referents).Start(p.ctx, bell{process: p}) // it fails only without a cache
}

// cacheOf returns the cache of the process that has objects of a kind, or nil.
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

// comes returns when the process hears of something next.
func (p *process) comes() (time.Time, bool) {
	at, ok := p.cache.next()
	if p.referents == nil {
		return at, ok
	}
	if other, comes := p.referents.of.next(); comes && (!ok || other.Before(at)) {
		return other, true
	}

	return at, ok
}

// GetInformer returns that of the kind.
func (r *referents) GetInformer(context.Context, client.Object, ...crcache.InformerGetOption) (crcache.Informer, error) {
	return informer{of: r}, nil
}

// An informer tells of the referents.
type informer struct {
	crcache.Informer // nothing else is asked of it

	of *referents
}

// AddEventHandler has somebody told of all that is there, and then of what changes.
func (i informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	i.of.new = append(i.of.new, h)

	return nil, nil //nolint:nilnil // it is given back only when the process is no more
}

// RemoveEventHandler does nothing: the process is no more.
func (informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error { return nil }

// IsStopped says that it goes on.
func (informer) IsStopped() bool { return false }

// deliver tells those who follow of what has come.
func (r *referents) deliver(now time.Time) {
	if r == nil {
		return
	}
	if len(r.all) == 0 {
		wait(time.Nanosecond) // who begins to follow does so before all else
	}
	for _, h := range r.begin() {
		for _, key := range inOrder(r.of.objects) {
			h.OnAdd(r.of.objects[key], true)
		}
	}
	r.of.deliver(now, func(n notice) {
		for _, h := range r.all {
			n.tell(h)
		}
	})
}

// begin returns those who follow since it was last called.
func (r *referents) begin() []toolscache.ResourceEventHandler {
	r.mu.Lock()
	defer r.mu.Unlock()
	begun := r.new
	r.new, r.all = nil, slices.Concat(r.all, begun)

	return begun
}

// tell tells a handler as an informer does.
func (n notice) tell(h toolscache.ResourceEventHandler) {
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

// stands is how what is known of referents stands to what they are.
func (r *referents) stands() uint64 {
	if r == nil {
		return 0
	}
	sum := uint64(len(r.of.server.Changes(0)) - r.of.read)
	for _, is := range []bool{time.Now().Before(r.of.frozen), r.of.broken, len(r.all) > 0} {
		sum = mixed(sum, bit(is))
	}
	for _, key := range inOrder(r.of.objects) {
		sum = mixed(sum, hashed(key.Name, r.says(key)))
	}

	return sum
}

// says returns what a referent tells, as far as the process knows.
func (r *referents) says(key types.NamespacedName) string {
	o := r.of.objects[key]
	if o == nil {
		return ""
	}

	return string(o.GetUID()) + externalName(o)
}
