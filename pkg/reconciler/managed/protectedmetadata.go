package managed

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// protectedMetadata has the metadata of an object that a call of an author's code must not remove.
type protectedMetadata struct {
	name, namespace string
	uid             types.UID
	deleted         *metav1.Time

	version     string
	annotations map[string]string
	finalizers  []string
}

// protectedMetadata returns the current metadata of the object. If nothing has changed, it is the metadata of the
// object as read. No client gets that object, so nothing is copied if it has its own Go type.
func (p *object) protectedMetadata() protectedMetadata {
	b := protectedMetadata{
		name: p.mg.GetName(), namespace: p.mg.GetNamespace(), uid: p.mg.GetUID(), deleted: p.mg.GetDeletionTimestamp(),
		version: p.mg.GetResourceVersion(), annotations: p.newest.GetAnnotations(),
		finalizers: p.newest.GetFinalizers(),
	}
	if now := p.mg.GetAnnotations(); !maps.Equal(now, b.annotations) {
		b.annotations = maps.Clone(now)
	}
	if now := p.mg.GetFinalizers(); !slices.Equal(now, b.finalizers) {
		b.finalizers = slices.Clone(now)
	}

	return b
}

// restore restores the metadata that a call has removed, and reports whether there was any. A client may replace all
// annotations instead of adding to them. That would remove the record that prevents a second creation, a policy to
// keep the external resource, and annotations of other owners.
//
// The client may change no finalizer. Of the annotations that the reconciler owns it may change only the external
// name. If the object was read or written meanwhile, it has another resource version, and its current metadata count.
func (b protectedMetadata) restore(mg resource.Managed) (changed bool) {
	if version := mg.GetResourceVersion(); version != "" && version != b.version {
		return false
	}
	mg.SetResourceVersion(b.version)
	changed = b.identify(mg)
	if !slices.Equal(mg.GetFinalizers(), b.finalizers) {
		mg.SetFinalizers(slices.Clone(b.finalizers))
		changed = true
	}
	annotations := mg.GetAnnotations()
	for key, value := range b.annotations {
		now, stays := annotations[key]
		if !stays || now != value && ownedAnnotations[key] && (now == "" || key != meta.AnnotationKeyExternalName) {
			meta.AddAnnotations(mg, map[string]string{key: value})
			changed = true
		}
	}
	for key := range ownedAnnotations {
		_, was := b.annotations[key]
		if _, is := annotations[key]; is && !was && key != meta.AnnotationKeyExternalName {
			meta.RemoveAnnotations(mg, key)
			changed = true
		}
	}

	return changed
}

// identify restores the identity and the deletion timestamp of the object. A client that decodes an external response
// into its object empties these fields.
func (b protectedMetadata) identify(mg resource.Managed) (changed bool) {
	if mg.GetName() == b.name && mg.GetNamespace() == b.namespace && mg.GetUID() == b.uid &&
		meta.WasDeleted(mg) == (b.deleted != nil) {
		return false
	}
	mg.SetName(b.name)
	mg.SetNamespace(b.namespace)
	mg.SetUID(b.uid)
	mg.SetDeletionTimestamp(b.deleted)

	return true
}
