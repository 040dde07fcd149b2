package resource

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A Finalizer keeps an object until its external resource has been cleaned up.
// Implementations may be called concurrently for different objects.
type Finalizer interface {
	// AddFinalizer ensures that the object has the finalizer, in the API
	// server and in memory.
	AddFinalizer(ctx context.Context, obj Object) error

	// RemoveFinalizer ensures that the object does not have the finalizer. It
	// succeeds if the object is gone.
	RemoveFinalizer(ctx context.Context, obj Object) error
}

// FinalizerFns implement a Finalizer with functions. A nil function does nothing and returns nil.
type FinalizerFns struct {
	// AddFinalizerFn is called by AddFinalizer.
	AddFinalizerFn func(ctx context.Context, obj Object) error

	// RemoveFinalizerFn is called by RemoveFinalizer.
	RemoveFinalizerFn func(ctx context.Context, obj Object) error
}

// AddFinalizer calls AddFinalizerFn.
func (f FinalizerFns) AddFinalizer(ctx context.Context, obj Object) error {
	if f.AddFinalizerFn == nil {
		return nil
	}

	return f.AddFinalizerFn(ctx, obj)
}

// RemoveFinalizer calls RemoveFinalizerFn.
func (f FinalizerFns) RemoveFinalizer(ctx context.Context, obj Object) error {
	if f.RemoveFinalizerFn == nil {
		return nil
	}

	return f.RemoveFinalizerFn(ctx, obj)
}

// NewNopFinalizer returns a Finalizer that does nothing. The API server then removes an object as soon as its deletion
// is requested, and its external resource is not cleaned up.
func NewNopFinalizer() Finalizer { return FinalizerFns{} }

// An APIFinalizer writes a finalizer to the API server. Make one with NewAPIFinalizer; the zero value is not usable.
//
// It sends a merge patch of only metadata.finalizers, because an update would erase fields that the Go types of this
// program do not have. The patch replaces the whole list, so it has the uid and resourceVersion of the object as read.
// It fails with a Kubernetes Conflict error if another client has changed the object meanwhile. It fails with an
// Invalid error if another object has the name now. In both cases the returned error wraps the Kubernetes error.
//
// On success the object in memory gets the resourceVersion and the finalizers of the response. Its other fields stay
// unchanged.
type APIFinalizer struct {
	client    client.Client
	finalizer string
}

// NewAPIFinalizer returns a Finalizer that writes the named finalizer with c.
func NewAPIFinalizer(c client.Client, finalizer string) *APIFinalizer {
	return &APIFinalizer{client: c, finalizer: finalizer}
}

// AddFinalizer sends a patch unless the object has the finalizer already.
func (a *APIFinalizer) AddFinalizer(ctx context.Context, obj Object) error {
	if meta.FinalizerExists(obj, a.finalizer) {
		return nil
	}

	return errors.Wrap(a.patch(ctx, obj, meta.AddFinalizer), "cannot update object")
}

// RemoveFinalizer sends a patch if the object has the finalizer. It succeeds if
// the object no longer exists.
func (a *APIFinalizer) RemoveFinalizer(ctx context.Context, obj Object) error {
	if !meta.FinalizerExists(obj, a.finalizer) {
		return nil
	}

	err := a.patch(ctx, obj, meta.RemoveFinalizer)
	if gone.Answered(err, obj.GetName()) {
		meta.RemoveFinalizer(obj, a.finalizer)

		return nil
	}

	return errors.Wrap(err, "cannot update object")
}

func (a *APIFinalizer) patch(ctx context.Context, obj Object, change func(o metav1.Object, finalizer string)) error {
	// Patch decodes the response into its argument, so it gets a copy.
	sent, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("a copy of %T is no object", obj)
	}

	change(sent, a.finalizer)

	body, err := finalizersPatch(sent)
	if err != nil {
		return err
	}

	if err := a.client.Patch(ctx, sent, client.RawPatch(types.MergePatchType, body)); err != nil {
		return err
	}

	obj.SetResourceVersion(sent.GetResourceVersion())
	obj.SetFinalizers(sent.GetFinalizers())

	return nil
}

func finalizersPatch(o metav1.Object) ([]byte, error) {
	type metadata struct {
		UID             types.UID `json:"uid,omitempty"`
		ResourceVersion string    `json:"resourceVersion,omitempty"`
		Finalizers      []string  `json:"finalizers"`
	}

	body, err := json.Marshal(map[string]metadata{"metadata": {
		UID:             o.GetUID(),
		ResourceVersion: o.GetResourceVersion(),
		Finalizers:      o.GetFinalizers(),
	}})

	return body, errors.Wrap(err, "cannot encode finalizers")
}
