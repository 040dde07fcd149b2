package bridge

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A liveClient is a client that reads from the API server.
type liveClient struct {
	client.Client

	live     client.Reader
	observed client.Object // not read again; may be nil
}

// Get reads an object from the API server. It returns the observed object without a request.
func (d liveClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if d.observed == nil || key != client.ObjectKeyFromObject(d.observed) || !sameKind(d, obj, d.observed) {
		return d.live.Get(ctx, key, obj, opts...)
	}
	object, err := content(d.observed)
	if err != nil {
		return err
	}
	if u, untyped := obj.(*unstructured.Unstructured); untyped {
		kind := u.GroupVersionKind() // a typed object may not know it
		u.Object = object
		u.SetGroupVersionKind(kind)
		return nil
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object, obj)
	return errors.Wrap(err, "cannot convert the host object")
}

// sameKind reports whether two objects have the same kind. Their Go types may differ.
func sameKind(c client.Client, a, b client.Object) bool {
	x, err := c.GroupVersionKindFor(a)
	y, errY := c.GroupVersionKindFor(b)
	return err == nil && errY == nil && x == y
}

func (d liveClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return d.live.List(ctx, list, opts...)
}

// errNotStatus is returned if a syncer writes a part of its virtual object that is not the status.
var errNotStatus = errors.New(
	"a bridged syncer may write the status of its virtual object only, by update or merge patch")

// A virtualClient is a client of the virtual cluster for one virtual object. It stores the status
// of this object in the external client instead of sending it, because the reconciler writes the
// status. It sends writes of other objects.
type virtualClient struct {
	client.Client

	externalClient *externalClient
	v              client.Object // as the syncer sees it
}

// isVirtualObject reports whether obj is the virtual object of the pass.
func (d virtualClient) isVirtualObject(obj client.Object) bool {
	return client.ObjectKeyFromObject(obj) == client.ObjectKeyFromObject(d.v) && sameKind(d, obj, d.v)
}

func (d virtualClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if d.isVirtualObject(obj) {
		return errNotStatus
	}
	return d.Client.Update(ctx, obj, opts...)
}

func (d virtualClient) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	if d.isVirtualObject(obj) {
		return errNotStatus
	}
	return d.Client.Patch(ctx, obj, patch, opts...)
}

func (d virtualClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if d.isVirtualObject(obj) {
		return errNotStatus
	}
	return d.Client.Delete(ctx, obj, opts...)
}

// Create also rejects the virtual object, because the API server may have no object with the
// external name.
func (d virtualClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if d.isVirtualObject(obj) {
		return errNotStatus
	}
	return d.Client.Create(ctx, obj, opts...)
}

// DeleteAllOf rejects all deletions of the kind of the virtual object, because the selected objects
// are not known before the request.
func (d virtualClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	if sameKind(d, obj, d.v) {
		return errNotStatus
	}
	return d.Client.DeleteAllOf(ctx, obj, opts...)
}

func (d virtualClient) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	obj, err := appliedObject(ac)
	if err != nil {
		return err
	}
	if d.isVirtualObject(obj) {
		return errNotStatus
	}
	return d.Client.Apply(ctx, ac, opts...)
}

// appliedObject returns the object that an apply configuration of any Go type sends.
func appliedObject(ac runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(ac)
	if err != nil {
		return nil, errors.Wrap(err, "cannot convert what is applied")
	}
	object := map[string]any{}
	err = json.Unmarshal(data, &object)
	return unstructuredOf(object), errors.Wrap(err, "cannot convert what is applied")
}

func (d virtualClient) Status() client.SubResourceWriter {
	return statusWriter{subResourceWriter{d.Client.Status(), d}}
}

func (d virtualClient) SubResource(name string) client.SubResourceClient {
	c := d.Client.SubResource(name)
	if name == "status" {
		return subResourceClient{statusWriter{subResourceWriter{c, d}}, c}
	}
	return subResourceClient{subResourceWriter{c, d}, c}
}

// A subResourceClient combines the writer and the reader of a subresource.
type subResourceClient struct {
	client.SubResourceWriter
	client.SubResourceReader
}

// A subResourceWriter rejects writes of subresources of the virtual object.
type subResourceWriter struct {
	client.SubResourceWriter

	virtualClient virtualClient
}

func (s subResourceWriter) Create(
	ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption,
) error {
	if s.virtualClient.isVirtualObject(obj) {
		return errNotStatus
	}
	return s.SubResourceWriter.Create(ctx, obj, sub, opts...)
}

func (s subResourceWriter) Update(
	ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	if s.virtualClient.isVirtualObject(obj) {
		return errNotStatus
	}
	return s.SubResourceWriter.Update(ctx, obj, opts...)
}

func (s subResourceWriter) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	if s.virtualClient.isVirtualObject(obj) {
		return errNotStatus
	}
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

func (s subResourceWriter) Apply(
	_ context.Context, _ runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption,
) error {
	return errNotStatus
}

// A statusWriter stores the status of the virtual object.
type statusWriter struct{ subResourceWriter }

func (s statusWriter) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if !s.virtualClient.isVirtualObject(obj) {
		return s.SubResourceWriter.Update(ctx, obj, opts...)
	}
	now, err := content(obj)
	if err != nil {
		return err
	}
	s.storeStatus(now)
	return nil
}

func (s statusWriter) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	if !s.virtualClient.isVirtualObject(obj) {
		return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	}
	if patch.Type() != types.MergePatchType {
		return errNotStatus
	}
	// The patch contains changes that the syncer made in place as well.
	now, err := applyMergePatch(s.virtualClient.v, obj, patch)
	if err != nil {
		return err
	}
	s.storeStatus(now)
	return nil
}

// storeStatus stores the status if it changed.
func (s statusWriter) storeStatus(object map[string]any) {
	status := object["status"]
	if now := s.virtualClient.externalClient.status; now == nil || !same(*now, status) {
		s.virtualClient.externalClient.status = &status
	}
}
