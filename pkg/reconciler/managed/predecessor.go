package managed

import (
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// WithPredecessor names the domain of the annotations of the runtime that kept the
// objects before, such as "crossplane.io". What it wrote is respected:
//
//   - DOMAIN/paused: "true" stops everything, as [meta.AnnotationKeyReconciliationPaused]
//     does, until it is removed or that annotation is set, to "false" for instance.
//   - DOMAIN/external-name and DOMAIN/external-create-pending, -succeeded and -failed
//     count as ours on an object that has no mark and no finalizer of ours yet, and
//     become ours with the first write.
//
// They stay on the object, so that the predecessor finds them if it comes back;
// [WithRetiredAnnotations] removes them. Give the option once for each predecessor. The
// first one of which there is anything counts.
func WithPredecessor(domain string) ReconcilerOption {
	return func(r *Reconciler) { r.predecessors = append(r.predecessors, domain) }
}

// WithRetiredFinalizers names finalizers of predecessors, which nobody removes any more. One
// is removed by the write that stores our finalizer, or by a later one, never
// before. A deletion does not wait for it. From an object that was deleted before it
// got ours it is removed when the external resource is gone, as ours would be. Where
// [WithFinalizer] replaces ours, that is left to its RemoveFinalizer.
func WithRetiredFinalizers(names ...string) ReconcilerOption {
	return func(r *Reconciler) {
		WithIgnoredFinalizers(names...)(r)
		r.retired.finalizers = append(r.retired.finalizers, names...)
	}
}

// WithRetiredAnnotations names annotations of predecessors that are removed once an object
// has our finalizer: the predecessor does not know it afterwards. An object that is
// paused or deleted keeps them.
func WithRetiredAnnotations(names ...string) ReconcilerOption {
	return func(r *Reconciler) { r.retired.annotations = append(r.retired.annotations, names...) }
}

// Retired is what predecessors left on objects.
type retired struct{ finalizers, annotations []string }

// On says whether a finalizer of a predecessor is on the object.
func (t *retired) on(mg resource.Managed) bool {
	return slices.ContainsFunc(t.finalizers, func(name string) bool { return meta.FinalizerExists(mg, name) })
}

// RemoveFinalizers takes the finalizers of predecessors from the object.
func (t *retired) removeFinalizers(mg resource.Managed) {
	for _, name := range t.finalizers {
		meta.RemoveFinalizer(mg, name)
	}
}

// Halted says whether a user wants nothing to be done.
func (r *Reconciler) halted(mg resource.Managed) bool { return r.pausedBy(mg) || policies(mg).Paused() }

// PausedBy says whether an annotation says so: ours, or if there is none that of a predecessor.
func (r *Reconciler) pausedBy(mg resource.Managed) bool {
	annotations := mg.GetAnnotations()
	if annotations[meta.AnnotationKeyReconciliationPaused] != "" || len(r.predecessors) == 0 {
		return meta.IsPaused(mg)
	}

	return slices.ContainsFunc(r.predecessors, func(domain string) bool { return annotations[domain+"/paused"] == "true" })
}

// The marks of a predecessor, and what they are here.
var inheritable = map[string]string{
	"/external-name":             meta.AnnotationKeyExternalName,
	"/external-create-pending":   meta.AnnotationKeyExternalCreatePending,
	"/external-create-succeeded": meta.AnnotationKeyExternalCreateSucceeded,
	"/external-create-failed":    meta.AnnotationKeyExternalCreateFailed,
}

// TakeOverMarks gives an object that was never ours the marks of a predecessor.
func (p *pass) takeOverMarks() bool {
	if len(p.r.predecessors) == 0 || p.restored || !p.neverOurs() {
		return false
	}
	for _, domain := range p.r.predecessors {
		marks := map[string]string{}
		for theirs, ours := range inheritable {
			if value := p.read.GetAnnotations()[domain+theirs]; value != "" {
				marks[ours] = value
			}
		}
		if len(marks) > 0 {
			meta.AddAnnotations(p.mg, marks)

			return !p.r.halted(p.mg) && !meta.WasDeleted(p.mg)
		}
	}

	return false
}

// NeverOurs says whether nothing tells that this runtime has kept the object: no mark, no finalizer, no record in
// the status, and nothing that this process knows.
func (p *pass) neverOurs() bool {
	if _, _, known := p.memo.known(); known || meta.FinalizerExists(p.read, FinalizerName) || p.mg.GetCondition(commonv1.TypeCreated).Reason != "" {
		return false
	}
	for key := range bookkeeping {
		if p.read.GetAnnotations()[key] != "" {
			return false
		}
	}

	return p.memo.Seen == objectstate.CreationRef{}
}

// Retires takes away what predecessors left on an object that has our finalizer, and says whether there was anything.
func (p *pass) retires() bool {
	if len(p.r.retired.finalizers)+len(p.r.retired.annotations) == 0 {
		return false
	}
	held := meta.FinalizerExists(p.read, FinalizerName) || p.r.finalizer != nil && p.memo.Seen != objectstate.CreationRef{}
	if !held || meta.WasDeleted(p.mg) || p.r.halted(p.mg) {
		return false
	}
	before := len(p.mg.GetAnnotations())
	meta.RemoveAnnotations(p.mg, p.r.retired.annotations...)

	return len(p.mg.GetAnnotations()) < before || p.r.retired.on(p.mg)
}
