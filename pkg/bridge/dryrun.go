package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/fields"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/mergepatch"
)

// A dryRunClient is a client of the host that records changes and sends none.
type dryRunClient struct {
	client.Client

	changes *[]string
}

// record adds a change to the list of changes, unless the list has it already.
func (r dryRunClient) record(verb string, obj client.Object, fields ...string) error {
	what := fmt.Sprintf("%s %s", verb, client.ObjectKeyFromObject(obj))
	if len(fields) > 0 {
		what += ": " + strings.Join(fields, ", ")
	}
	if !slices.Contains(*r.changes, what) { // Sync may be called several times
		*r.changes = append(*r.changes, what)
	}
	return nil
}

// change records which fields of an object a write would change, and returns the content after the
// change. mutate returns this content for the current object.
func (r dryRunClient) change(
	ctx context.Context, obj client.Object, mutate func(now client.Object) (map[string]any, error),
) (map[string]any, error) {
	now := obj.DeepCopyObject().(client.Object)
	err := r.Get(ctx, client.ObjectKeyFromObject(obj), now)
	if gone.Answered(err, obj.GetName()) {
		return nil, r.record("create", obj)
	}
	if err != nil {
		return nil, err
	}
	is, err := content(now)
	if err != nil {
		return nil, err
	}
	after, err := mutate(now)
	if err != nil {
		return nil, err
	}
	if fields := differingPaths("", is, after); len(fields) > 0 {
		return after, r.record("change", obj, fields...)
	}
	return after, nil
}

func (r dryRunClient) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return r.record("create", obj)
}

func (r dryRunClient) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return r.record("delete", obj)
}

func (r dryRunClient) DeleteAllOf(_ context.Context, obj client.Object, _ ...client.DeleteAllOfOption) error {
	return r.record("delete all of", obj)
}

func (r dryRunClient) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	_, err := r.change(ctx, obj, func(client.Object) (map[string]any, error) { return content(obj) })
	return err
}

func (r dryRunClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if patch.Type() != types.MergePatchType {
		return r.record("patch", obj)
	}
	_, err := r.change(ctx, obj, func(now client.Object) (map[string]any, error) {
		return applyMergePatch(now, obj, patch)
	})
	return err
}

// Apply decodes an approximation of the response into the applied object: maps are
// merged, fields that the manager owns alone and no longer applies are removed, and lists
// are replaced.
func (r dryRunClient) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	body, ok := ac.(interface {
		client.Object
		UnstructuredContent() map[string]any
	})
	if !ok {
		*r.changes = append(*r.changes, fmt.Sprintf("apply a %T", ac))
		return nil
	}
	o := client.ApplyOptions{}
	o.ApplyOptions(opts)
	u := unstructuredOf(body.UnstructuredContent())
	after, err := r.change(ctx, u, func(now client.Object) (map[string]any, error) {
		is, err := content(now)
		if owners, ok := fields.Of(now.GetManagedFields(), o.FieldManager, u.GetAPIVersion()); ok {
			owners.Prune(is, u.Object)
		}
		return mergepatch.Apply(is, u.Object), err
	})
	if err == nil && after != nil {
		replaceContent(body.UnstructuredContent(), after)
	}
	return err
}

func (r dryRunClient) Status() client.SubResourceWriter { return dryRunWriter{r} }

func (r dryRunClient) SubResource(name string) client.SubResourceClient {
	return dryRunSubResource{dryRunWriter{r}, r.Client.SubResource(name)}
}

// A dryRunWriter is a dryRunClient for a subresource.
type dryRunWriter struct{ dryRunClient dryRunClient }

func (s dryRunWriter) Create(_ context.Context, obj, _ client.Object, _ ...client.SubResourceCreateOption) error {
	return s.dryRunClient.record("create a subresource of", obj)
}

func (s dryRunWriter) Update(ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.dryRunClient.Update(ctx, obj)
}

func (s dryRunWriter) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption,
) error {
	return s.dryRunClient.Patch(ctx, obj, patch)
}

func (s dryRunWriter) Apply(
	ctx context.Context, ac runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption,
) error {
	return s.dryRunClient.Apply(ctx, ac)
}

// A dryRunSubResource combines the writer and the reader of a subresource.
type dryRunSubResource struct {
	client.SubResourceWriter
	client.SubResourceReader
}
