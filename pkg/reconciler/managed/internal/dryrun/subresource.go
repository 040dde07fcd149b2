package dryrun

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// RESTMapper returns the mapper of the other client.
func (c *Client) RESTMapper() meta.RESTMapper { return c.stored.RESTMapper() }

// Status returns a writer of the status in the session.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource(statusName) }

const statusName = "status"

// SubResource returns a client of a subresource. Get reads what is stored. Writes change the session for status, and
// return ErrRefused for all other subresources.
func (c *Client) SubResource(name string) client.SubResourceClient { return subresource{c, name} }

type subresource struct {
	of   *Client
	name string
}

func (s subresource) Get(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceGetOption) error {
	return s.of.stored.SubResource(s.name).Get(ctx, obj, sub, opts...)
}

func (s subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errors.Wrapf(ErrRefused, "create of the subresource %s", s.name)
}

func (s subresource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	var o client.SubResourceUpdateOptions
	o.ApplyOptions(opts)
	if s.name != statusName {
		return errors.Wrapf(ErrRefused, "update of the subresource %s", s.name)
	}
	if o.SubResourceBody != nil {
		return errors.Wrap(ErrRefused, "update of a status with a body")
	}

	return s.of.change(ctx, "update", obj, replaced(obj, true))
}

func (s subresource) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	var o client.SubResourcePatchOptions
	o.ApplyOptions(opts)
	if s.name != statusName {
		return errors.Wrapf(ErrRefused, "patch of the subresource %s", s.name)
	}
	if o.SubResourceBody != nil {
		return errors.Wrap(ErrRefused, "patch of a status with a body")
	}

	return s.of.change(ctx, "patch", obj, patched(obj, patch, true))
}

func (s subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errors.Wrapf(ErrRefused, "server-side apply of the subresource %s", s.name)
}
