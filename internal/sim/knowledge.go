package sim

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A knowledge is what a process knows at one moment. For a pass in progress it has the answers to the pass, because the
// variables of the pass cannot be read.
type knowledge struct {
	memory uint64               // fingerprint when the last pass began or was about to write its status
	making int                  // the number of the pass in progress
	shown  int                  // the changes of the server that the cache had read when that pass began
	outer  uint64               // the answers to the passes that it interrupts
	about  types.NamespacedName // the object of that pass
	status resource.Managed     // the object with the status that is about to be written
}

// recordPass records what a pass knows when it begins: the memory of its process.
func (w *World) recordPass(p *process, key types.NamespacedName) {
	if !w.queried() {
		return
	}
	if w.hashing() {
		p.memory = p.fingerprint()
	}
	w.trail.pass, w.trail.last = mixed(w.trail.pass, hashed(key.Name)), 0
}

// recordAnswer records the answer of an operation to the pass that made it.
func (w *World) recordAnswer(p *process, o Operation, text string, succeeded bool) {
	if !w.hashing() {
		return
	}
	sum := hashed(o.Name, text)
	switch {
	case !succeeded, o.Name == "Connect", o.Name == "Disconnect":
	case o.External:
		sum = mixed(sum, w.system.hash(w))
		if o.mg != nil {
			sum = mixed(sum, w.relation(o.mg))
		}
	case o.Name == "get":
		if mg, ok := p.cache.objects[o.key].(resource.Managed); ok {
			sum = mixed(sum, w.objectHash(mg))
		}
	case o.cached():
		sum = mixed(sum, hashed(p.referents.says(o.key)))
	default:
		if mg := w.users.see(o.key); mg != nil && o.kind == w.config.gvk() {
			sum = mixed(sum, w.objectHash(mg))
		}
	}
	if sum != w.trail.last {
		w.trail.pass, w.trail.last = mixed(w.trail.pass, sum), sum
	}
}

// recordConclusion is called before each operation. When a pass is about to write its status, the answers to the pass
// show in that status and in the memory of its process. If the status is written over the version that the pass read,
// the rest of the pass depends on nothing else.
func (w *World) recordConclusion(p *process, o Operation) {
	mg := p.status
	if o.Name != "patch/status" || mg == nil || !w.hashing() || keyOf(mg) != o.key {
		return
	}
	stored := w.stored(mg)
	if stored == nil || stored.GetResourceVersion() != mg.GetResourceVersion() ||
		stored.GetGeneration() != mg.GetGeneration() {
		return
	}
	p.memory = p.fingerprint()
	w.trail.pass, w.trail.last = mixed(mixed(p.outer, hashed(o.key.Name)), mixed(contentHash(mg), w.relation(mg))), 0
}

// Status returns a writer to the server that also records the status that a pass writes.
func (c *cached) Status() client.SubResourceWriter {
	return statusRecorder{c.Client.Status(), c.process}
}

// A statusRecorder records the status that a pass is about to write.
type statusRecorder struct {
	client.SubResourceWriter

	process *process
}

// Patch patches a status, and records that the pass writes it.
func (c statusRecorder) Patch(ctx context.Context, o client.Object, p client.Patch,
	opts ...client.SubResourcePatchOption) error {
	if !isBeside(ctx) {
		c.process.status, _ = o.(resource.Managed)
	}

	return c.SubResourceWriter.Patch(ctx, o, p, opts...)
}
