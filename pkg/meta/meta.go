// Package meta reads and writes the metadata of managed resources: finalizers, labels and annotations. In some
// annotations a user sets policies. In others the runtime records the progress of a creation.
//
// Annotation keys that existing objects have stored keep their names (krateo.io/...). New keys begin with
// moorage.dev/.
//
// A function never changes a map or a slice of the object, because a cache may share it. The function replaces it
// instead. Do not use one object from several goroutines at a time.
package meta

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddAnnotations sets the supplied annotations on the object and keeps its other annotations. The supplied map is
// copied.
func AddAnnotations(o metav1.Object, annotations map[string]string) {
	if len(annotations) > 0 {
		o.SetAnnotations(merged(o.GetAnnotations(), annotations))
	}
}

// RemoveAnnotations removes the annotations with the supplied keys.
func RemoveAnnotations(o metav1.Object, annotations ...string) {
	if left, changed := without(o.GetAnnotations(), annotations); changed {
		o.SetAnnotations(left)
	}
}

// AddLabels sets the supplied labels on the object and keeps its other labels. The supplied map is copied.
func AddLabels(o metav1.Object, labels map[string]string) {
	if len(labels) > 0 {
		o.SetLabels(merged(o.GetLabels(), labels))
	}
}

// RemoveLabels removes the labels with the supplied keys.
func RemoveLabels(o metav1.Object, labels ...string) {
	if left, changed := without(o.GetLabels(), labels); changed {
		o.SetLabels(left)
	}
}

// AddFinalizer appends the finalizer to the finalizers of the object, unless the object has it already.
func AddFinalizer(o metav1.Object, finalizer string) {
	if !FinalizerExists(o, finalizer) {
		o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	}
}

// RemoveFinalizer removes the finalizer from the object, however often it is listed, and keeps the order of the other
// finalizers.
func RemoveFinalizer(o metav1.Object, finalizer string) {
	if FinalizerExists(o, finalizer) {
		o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()),
			func(f string) bool { return f == finalizer }))
	}
}

// FinalizerExists reports whether the object has the finalizer.
func FinalizerExists(o metav1.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}

// WasCreated reports whether the object was created in the API server, which is the case if it has a creation time.
// It says nothing about external resources.
func WasCreated(o metav1.Object) bool {
	t := o.GetCreationTimestamp()

	return !t.IsZero()
}

// WasDeleted reports whether the deletion of the object was requested.
func WasDeleted(o metav1.Object) bool {
	return !o.GetDeletionTimestamp().IsZero()
}

func merged(base, more map[string]string) map[string]string {
	out := make(map[string]string, len(base)+len(more))
	maps.Copy(out, base)
	maps.Copy(out, more)

	return out
}

func without(base map[string]string, keys []string) (left map[string]string, changed bool) {
	if !slices.ContainsFunc(keys, func(k string) bool { _, has := base[k]; return has }) {
		return base, false
	}
	left = maps.Clone(base)
	for _, k := range keys {
		delete(left, k)
	}

	return left, true
}
