package syncer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noting is a client that notes what is written of one kind, so that no pass starts
// on a cache that does not show it yet.
type noting struct {
	client.Client

	kind schema.GroupVersionKind
	side side
	mem  *memory
	own  *renewing // nil on the virtual side
}

func (c noting) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.own.own(ctx, obj); err != nil {
		return err
	}
	return c.note(obj, false, c.Client.Create(ctx, obj, opts...))
}

func (c noting) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.note(obj, false, c.Client.Update(ctx, obj, opts...))
}

func (c noting) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.note(obj, false, c.Client.Patch(ctx, obj, patch, opts...))
}

// Delete notes the object that was given: its UID says which one is gone.
func (c noting) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.note(obj, true, c.Client.Delete(ctx, obj, opts...))
}

func (c noting) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if o, ok := obj.(metav1.Object); ok {
		if err := c.own.own(ctx, o); err != nil {
			return err
		}
	}
	err := c.Client.Apply(ctx, obj, opts...)
	// The answer of an apply is decoded into what was applied; typed
	// configurations have no accessors that would fit all kinds.
	if u, ok := obj.(interface {
		client.Object
		UnstructuredContent() map[string]any
	}); ok {
		return c.note(&unstructured.Unstructured{Object: u.UnstructuredContent()}, false, err)
	}
	return err
}

func (c noting) Status() client.SubResourceWriter {
	return notingStatus{SubResourceWriter: c.Client.Status(), of: c}
}

func (c noting) note(obj client.Object, deleted bool, err error) error {
	if err != nil || obj.GetUID() == "" || !deleted && obj.GetResourceVersion() == "" {
		return err
	}
	if kind, unknown := c.GroupVersionKindFor(obj); unknown == nil && kind == c.kind {
		c.mem.wrote(c.side, obj, deleted)
	}
	return nil
}

// notingStatus notes what is written of a status.
type notingStatus struct {
	client.SubResourceWriter

	of noting
}

func (s notingStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.of.note(obj, false, s.SubResourceWriter.Update(ctx, obj, opts...))
}

func (s notingStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.of.note(obj, false, s.SubResourceWriter.Patch(ctx, obj, patch, opts...))
}
