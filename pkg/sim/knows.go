package sim

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A mind is what a process knows. What a pass knows that is under way is what it was told:
// nobody can look into it.
type mind struct {
	memory    uint64               // what was remembered when the last pass began, or concluded
	making    int                  // the number of the pass that is under way
	shown     int                  // the changes of the server that its cache had read when that began
	outer     uint64               // what those were told that it interrupts
	about     types.NamespacedName // the object of the pass that is under way
	concludes resource.Managed     // the object with the status that is about to be written
}

// passBegins notes what a pass knows when it begins: what its process remembers.
func (w *World) passBegins(p *process, key types.NamespacedName) {
	if !w.inquired() {
		return
	}
	if w.followed() {
		p.memory = p.remembers()
	}
	w.trail.pass, w.trail.last = mixed(w.trail.pass, hashed(key.Name)), 0
}

// tells notes what an operation told the pass that asked.
func (w *World) tells(p *process, o operation, text string, succeeded bool) {
	if !w.followed() {
		return
	}
	sum := hashed(o.name, text)
	switch {
	case !succeeded, o.name == "Connect", o.name == "Disconnect":
	case o.external:
		sum = mixed(sum, w.harbour.stands(w))
		if o.mg != nil {
			sum = mixed(sum, w.relation(o.mg))
		}
	case o.name == "get":
		if mg, ok := p.cache.objects[o.key].(resource.Managed); ok {
			sum = mixed(sum, w.looksOf(mg))
		}
	case o.cached():
		sum = mixed(sum, hashed(p.referents.says(o.key)))
	default:
		if mg := w.users.see(o.key); mg != nil && o.kind == w.config.gvk() {
			sum = mixed(sum, w.looksOf(mg))
		}
	}
	if sum != w.trail.last {
		w.trail.pass, w.trail.last = mixed(w.trail.pass, sum), sum
	}
}

// concludes is called before an operation. When a pass has come to write its status, what
// it was told shows in that, and in what its process remembers: nothing that follows in
// the pass depends on anything else, if the status is the next to the one it has read.
func (w *World) concludes(p *process, o operation) {
	mg := p.concludes
	if o.name != "patch/status" || mg == nil || !w.followed() || keyOf(mg) != o.key {
		return
	}
	stored := w.stored(mg)
	if stored == nil || stored.GetResourceVersion() != mg.GetResourceVersion() || stored.GetGeneration() != mg.GetGeneration() {
		return
	}
	p.memory = p.remembers()
	w.trail.pass, w.trail.last = mixed(mixed(p.outer, hashed(o.key.Name)), mixed(looks(mg), w.relation(mg))), 0
}

// Status writes to the server what a pass concludes, which is noted.
func (c *cached) Status() client.SubResourceWriter { return concluding{c.Client.Status(), c.process} }

// Concluding is a writer of statuses that notes what they are to be.
type concluding struct {
	client.SubResourceWriter

	process *process
}

// Patch patches a status.
func (c concluding) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if !isBeside(ctx) {
		c.process.concludes, _ = o.(resource.Managed)
	}

	return c.SubResourceWriter.Patch(ctx, o, p, opts...)
}
