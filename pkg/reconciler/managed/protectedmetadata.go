package managed

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// protectedMetadata are what a call of an author's may not take away from an object.
type protectedMetadata struct {
	name, namespace string
	uid             types.UID
	deleted         *metav1.Time

	version     string
	annotations map[string]string
	finalizers  []string
}

// protectedMetadata returns those that the object has now, for later. In a quiet pass they are
// those of the object as it was read, which no client is given: if it has a Go type of its
// own, nothing is copied.
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

// identify has an object be again the one that it is, and be deleted if it was: a client that
// decodes what the external system answers into its object empties the rest of it.
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

// restore puts back what a call took away. A client that replaces all annotations by its
// own, rather than adding to them, would take with them what keeps a second creation
// from being made, that a deletion is to leave the external resource alone, and what is
// somebody else's. Of the bookkeeping it may change the name alone, and of the
// finalizers none. What has read or written the object meanwhile is believed: it has
// another version, and what it shows is stored.
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
