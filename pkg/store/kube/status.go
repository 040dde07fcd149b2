package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
)

// Apply returns an error: only an API server has server-side apply.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return unsupported("server-side apply", "use a merge patch")
}

// Status returns a client of the subresource status.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource(apicore.FieldStatus) }

// SubResource returns a client of a subresource. The only subresource is status, and only of types with a field status.
// For any other subresource the requests return a NotFound error.
func (c *Client) SubResource(name string) client.SubResourceClient { return &subresource{c, name} }

type subresource struct {
	client *Client
	name   string
}

func (s *subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return unsupported("a subresource that is an object of its own", "get the object")
}

func (s *subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return unsupported("a subresource that is an object of its own", "update the object")
}

func (s *subresource) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	options := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts)
	if options.SubResourceBody != nil {
		o = options.SubResourceBody
	}

	return s.client.replace(ctx, s.name, o, options.DryRun)
}

func (s *subresource) Patch(ctx context.Context, o client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	if options.SubResourceBody != nil {
		o = options.SubResourceBody
	}

	return s.client.patch(ctx, s.name, o, patch, &options.PatchOptions)
}

func (s *subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return unsupported("server-side apply", "use a merge patch")
}
