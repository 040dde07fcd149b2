package managed

import (
	"slices"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// hasFinalizer says whether our finalizer keeps the object. The name of an author's own finalizer is unknown: the
// author's code adds it once in each pass over a live object, and it is assumed to keep a deleted one as long as it
// was not removed and there is a finalizer that may be it. So is a deleted object without any finalizer, which only
// exists in tests.
func (p *object) hasFinalizer() bool {
	deleted := meta.WasDeleted(p.mg)
	if p.r.finalizer != nil && !deleted {
		return p.finalizerAdded
	}
	if p.r.finalizer != nil && slices.ContainsFunc(p.mg.GetFinalizers(),
		func(name string) bool { return !p.r.ignoredFinalizers[name] }) {
		return !p.state.FinalizerRemoved
	}

	return meta.FinalizerExists(p.mg, FinalizerName) ||
		deleted && (len(p.mg.GetFinalizers()) == 0 || p.r.retired.on(p.mg))
}

// foreignFinalizers returns the finalizers of others that have to be removed before the external resource is deleted.
func (p *object) foreignFinalizers() []string {
	if !meta.WasDeleted(p.mg) {
		return nil
	}
	var others []string
	for _, name := range p.mg.GetFinalizers() {
		if name != FinalizerName && !p.r.ignoredFinalizers[name] {
			others = append(others, name)
		}
	}
	ours := meta.FinalizerExists(p.mg, FinalizerName)
	if p.r.finalizer != nil && !ours && len(others) == 1 {
		return nil // it is the author's own, whose name is unknown
	}

	return others
}
