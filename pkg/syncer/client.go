package syncer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A recordingClient is a client that records its writes of one kind in the tracker. A pass can then
// detect that a cache does not contain these writes yet.
type recordingClient struct {
	client.Client

	kind    schema.GroupVersionKind
	side    side
	tracker *tracker
	owner   *ownerUpdater // nil on the virtual side, and if the owner never changes
}

func (c recordingClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.owner.updateOwner(ctx, obj); err != nil {
		return err
	}
	return c.record(obj, false, c.Client.Create(ctx, obj, opts...))
}

func (c recordingClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.record(obj, false, c.Client.Update(ctx, obj, opts...))
}

func (c recordingClient) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	return c.record(obj, false, c.Client.Patch(ctx, obj, patch, opts...))
}

// Delete records the object that was passed in: its UID identifies the deleted one.
func (c recordingClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.record(obj, true, c.Client.Delete(ctx, obj, opts...))
}

func (c recordingClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if o, ok := obj.(metav1.Object); ok {
		if err := c.owner.updateOwner(ctx, o); err != nil {
			return err
		}
	}
	err := c.Client.Apply(ctx, obj, opts...)
	// The response to an apply is decoded into the applied object. Typed apply
	// configurations have no accessors that fit all kinds.
	if u, ok := obj.(interface {
		client.Object
		UnstructuredContent() map[string]any
	}); ok {
		return c.record(&unstructured.Unstructured{Object: u.UnstructuredContent()}, false, err)
	}
	return err
}

func (c recordingClient) Status() client.SubResourceWriter {
	return recordingStatusWriter{SubResourceWriter: c.Client.Status(), client: c}
}

// record tracks a successful write of the recorded kind. Objects without a UID or
// version cannot be compared with a cache and are not tracked.
func (c recordingClient) record(obj client.Object, deleted bool, err error) error {
	if err != nil || obj.GetUID() == "" || !deleted && obj.GetResourceVersion() == "" {
		return err
	}
	if kind, unknown := c.GroupVersionKindFor(obj); unknown == nil && kind == c.kind {
		c.tracker.recordWrite(c.side, obj, deleted)
	}
	return nil
}

// recordingStatusWriter records writes of the status subresource.
type recordingStatusWriter struct {
	client.SubResourceWriter

	client recordingClient
}

func (s recordingStatusWriter) Update(
	ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	return s.client.record(obj, false, s.SubResourceWriter.Update(ctx, obj, opts...))
}

func (s recordingStatusWriter) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	return s.client.record(obj, false, s.SubResourceWriter.Patch(ctx, obj, patch, opts...))
}
