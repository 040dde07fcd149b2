package trials

import (
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// imported creates an object with the name of an existing disk.
func (w *world) imported(finalizers ...string) {
	w.Helper()
	w.cloud.Put(volume.Disk{ID: "theirs", SizeGiB: 1})
	w.create(func(v *volume.Volume) {
		meta.SetExternalName(v, "theirs")
		v.Finalizers = finalizers
	})
}

// TestOutsideImportedWithItsFinalizer is about an import: an object of another provider of this
// family, or one that was exported without its other annotations, has the finalizer and the name of
// an existing resource, and no record of a creation. It is protected against one wrong "not found",
// as any other is.
func TestOutsideImportedWithItsFinalizer(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.imported(managed.FinalizerName)
		w.run(time.Hour)
		w.isReady()
		w.missed()
		w.run(10 * time.Minute)
		w.isReady()
		if n := w.cloud.Count("Create"); n != 0 {
			w.Errorf("Create was called %d times", n)
		}
	})
}

// TestOutsideImportedOnRequest checks that with WithRecreationOnRequest the resource of such an object
// is not created again before a user requests it.
func TestOutsideImportedOnRequest(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.onRequest()
		w.imported(managed.FinalizerName)
		w.run(time.Hour)
		w.cloud.Remove("theirs")
		w.run(10 * time.Minute)
		w.says(commonv1.ReasonRecreationNotRequested, meta.AnnotationKeyAllowRecreation)
		if n := w.cloud.Count("Create"); n != 0 {
			w.Errorf("Create was called %d times", n)
		}
	})
}

// TestOutsideAdoptionNotStored is about an API server that drops the annotations of an
// adoption, and stores annotations later: the adoption is recorded then, and protects the
// adopted resource.
func TestOutsideAdoptionNotStored(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.admit = func(body map[string]any) {
			metadata, _ := body["metadata"].(map[string]any)
			delete(metadata, "annotations")
		}
		w.imported()
		w.run(time.Minute)
		w.admit = nil
		w.run(time.Hour)
		w.isReady()
		if w.get().GetAnnotations()[meta.AnnotationKeyCreateAttempt] == "" {
			w.Error("the adoption is not recorded")
		}
		w.start()
		w.missed()
		w.run(10 * time.Minute)
		w.isReady()
	})
}
