package trials

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A worker creates by an operation: only its handle identifies the created resource.
type worker struct {
	managed.ExternalClient

	made map[string]string // by handle
	busy *bool
}

// Create begins an operation.
func (c worker) Create(ctx context.Context, mg resource.Managed) error {
	if err := c.ExternalClient.Create(ctx, mg); err != nil {
		return err
	}
	handle := "create-of-" + meta.GetExternalName(mg)
	c.made[handle] = meta.GetExternalName(mg)
	meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)

	return external.InProgress(handle, time.Second)
}

// Observe polls the operation, if there is one.
func (c worker) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	handle := external.OperationHandle(ctx)
	if handle != "" && *c.busy {
		return managed.ExternalObservation{}, external.InProgress(handle, time.Second)
	}
	if handle != "" {
		meta.SetExternalName(mg, c.made[handle])
	}

	return c.ExternalClient.Observe(ctx, mg)
}

// TestOutsideHandleReplaced is about a creation in progress whose name only its handle gives: a replace removes all
// annotations. The process that knows the handle restores it, so that the next process can use it.
func TestOutsideHandleReplaced(t *testing.T) {
	each(t, []class{opaque, token}, func(w *world) {
		for why, manifest := range map[string]map[string]string{
			"none": nil, "paused": early["paused"],
			"an invalid policy": early["an invalid policy"],
		} {
			for _, ends := range []bool{false, true} {
				story, busy, made := w.again(), true, map[string]string{}
				story.over(func(inner managed.ExternalClient) managed.ExternalClient {
					return worker{inner, made,
						&busy}
				})
				story.create()
				_, _ = story.pass()
				story.replacedBy(manifest, managed.FinalizerName)
				_, _ = story.pass()
				if got := story.get().GetAnnotations()[meta.AnnotationKeyOperation]; got == "" {
					w.Errorf("%s: the handle is not put back", why)
				}
				if ends {
					story.start()
				}
				busy = false
				story.shown()
				story.run(10 * time.Minute)
				story.isReady()
				if _, kept := story.get().GetAnnotations()[meta.AnnotationKeyOperation]; kept {
					w.Errorf("%s: the operation has ended, and its handle is kept", why)
				}
			}
		}
	})
}

// TestOutsideHandleRemoved checks that a handle that a user removes alone is not restored.
func TestOutsideHandleRemoved(t *testing.T) {
	in(t, opaque, func(w *world) {
		busy := true
		w.over(func(inner managed.ExternalClient) managed.ExternalClient {
			return worker{inner, map[string]string{}, &busy}
		})
		w.create()
		_, _ = w.pass()
		v := w.get()
		marks := v.GetAnnotations()
		delete(marks, meta.AnnotationKeyOperation)
		v.SetAnnotations(marks)
		w.Must(w.API.Update(w.Context(), v))
		for range 2 {
			_, _ = w.pass()
			w.replace() // the manifest does not have it either
		}
		_, _ = w.pass()
		if got := w.get().GetAnnotations()[meta.AnnotationKeyOperation]; got != "" {
			w.Errorf("the handle is %q", got)
		}
	})
}
