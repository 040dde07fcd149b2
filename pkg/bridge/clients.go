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

// direct is a client that reads from the API server.
type direct struct {
	client.Client

	live client.Reader
	seen client.Object // is not read again; nil is nothing
}

func (d direct) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if d.seen == nil || key != client.ObjectKeyFromObject(d.seen) || !sameKind(d, obj, d.seen) {
		return d.live.Get(ctx, key, obj, opts...)
	}
	object, err := content(d.seen)
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

// sameKind tells whether two objects are of one kind, whatever their Go types are.
func sameKind(c client.Client, a, b client.Object) bool {
	x, err := c.GroupVersionKindFor(a)
	y, errY := c.GroupVersionKindFor(b)
	return err == nil && errY == nil && x == y
}

func (d direct) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return d.live.List(ctx, list, opts...)
}

// errNotStatus is what a syncer hears that writes more of its virtual object than the
// status.
var errNotStatus = errors.New("a bridged syncer may write the status of its virtual object only, by update or merge patch")

// A desk is a client of the virtual cluster on which the status of the virtual object
// is put down instead of being sent: the reconciler stores it. All else is sent.
type desk struct {
	client.Client

	carrier *carrier
	v       client.Object // as the syncer sees it
}

func (d desk) own(obj client.Object) bool {
	return client.ObjectKeyFromObject(obj) == client.ObjectKeyFromObject(d.v) && sameKind(d, obj, d.v)
}

func (d desk) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if d.own(obj) {
		return errNotStatus
	}
	return d.Client.Update(ctx, obj, opts...)
}

func (d desk) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if d.own(obj) {
		return errNotStatus
	}
	return d.Client.Patch(ctx, obj, patch, opts...)
}

func (d desk) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if d.own(obj) {
		return errNotStatus
	}
	return d.Client.Delete(ctx, obj, opts...)
}

// Create is refused as well: under an external name the API server may not know the
// virtual object that the syncer sees.
func (d desk) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if d.own(obj) {
		return errNotStatus
	}
	return d.Client.Create(ctx, obj, opts...)
}

// DeleteAllOf is refused for the whole kind: what is selected is known too late.
func (d desk) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	if sameKind(d, obj, d.v) {
		return errNotStatus
	}
	return d.Client.DeleteAllOf(ctx, obj, opts...)
}

func (d desk) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	obj, err := appliedObject(ac)
	if err != nil {
		return err
	}
	if d.own(obj) {
		return errNotStatus
	}
	return d.Client.Apply(ctx, ac, opts...)
}

// appliedObject is what an apply configuration is sent as, whatever its Go type is.
func appliedObject(ac runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(ac)
	if err != nil {
		return nil, errors.Wrap(err, "cannot convert what is applied")
	}
	object := map[string]any{}
	err = json.Unmarshal(data, &object)
	return unstructuredOf(object), errors.Wrap(err, "cannot convert what is applied")
}

func (d desk) Status() client.SubResourceWriter { return deskStatus{deskOf{d.Client.Status(), d}} }

func (d desk) SubResource(name string) client.SubResourceClient {
	c := d.Client.SubResource(name)
	if name == "status" {
		return deskClient{deskStatus{deskOf{c, d}}, c}
	}
	return deskClient{deskOf{c, d}, c}
}

type deskClient struct {
	client.SubResourceWriter
	client.SubResourceReader
}

// deskOf is the same for a subresource.
type deskOf struct {
	client.SubResourceWriter

	desk desk
}

func (s deskOf) Create(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
	if s.desk.own(obj) {
		return errNotStatus
	}
	return s.SubResourceWriter.Create(ctx, obj, sub, opts...)
}

func (s deskOf) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if s.desk.own(obj) {
		return errNotStatus
	}
	return s.SubResourceWriter.Update(ctx, obj, opts...)
}

func (s deskOf) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if s.desk.own(obj) {
		return errNotStatus
	}
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

func (s deskOf) Apply(_ context.Context, _ runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return errNotStatus
}

// deskStatus puts down what deskOf refuses, if it is the status.
type deskStatus struct{ deskOf }

func (s deskStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if !s.desk.own(obj) {
		return s.SubResourceWriter.Update(ctx, obj, opts...)
	}
	now, err := content(obj)
	if err != nil {
		return err
	}
	s.put(now)
	return nil
}

func (s deskStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if !s.desk.own(obj) {
		return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	}
	if patch.Type() != types.MergePatchType {
		return errNotStatus
	}
	// What the syncer changed in place is in the patch as well.
	now, err := patched(s.desk.v, obj, patch)
	if err != nil {
		return err
	}
	s.put(now)
	return nil
}

// put down another status than the one that is there.
func (s deskStatus) put(object map[string]any) {
	status := object["status"]
	if now := s.desk.carrier.status; now == nil || !same(*now, status) {
		s.desk.carrier.status = &status
	}
}
