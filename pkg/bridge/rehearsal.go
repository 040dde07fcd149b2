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
)

// A rehearsal is a client of the host that notes what would be changed there, and
// sends nothing of it.
type rehearsal struct {
	client.Client

	would *[]string
}

func (r rehearsal) note(verb string, obj client.Object, fields ...string) error {
	what := fmt.Sprintf("%s %s", verb, client.ObjectKeyFromObject(obj))
	if len(fields) > 0 {
		what += ": " + strings.Join(fields, ", ")
	}
	if !slices.Contains(*r.would, what) { // a syncer may be called several times
		*r.would = append(*r.would, what)
	}
	return nil
}

// change notes which fields of an object would differ, if any. Then says how the
// object would be, given how it is.
func (r rehearsal) change(ctx context.Context, obj client.Object, then func(now client.Object) (map[string]any, error)) (map[string]any, error) {
	now := obj.DeepCopyObject().(client.Object)
	err := r.Get(ctx, client.ObjectKeyFromObject(obj), now)
	if gone.Answered(err, obj.GetName()) {
		return nil, r.note("create", obj)
	}
	if err != nil {
		return nil, err
	}
	is, err := content(now)
	if err != nil {
		return nil, err
	}
	would, err := then(now)
	if err != nil {
		return nil, err
	}
	if fields := differing("", is, would); len(fields) > 0 {
		return would, r.note("change", obj, fields...)
	}
	return would, nil
}

func (r rehearsal) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return r.note("create", obj)
}

func (r rehearsal) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return r.note("delete", obj)
}

func (r rehearsal) DeleteAllOf(_ context.Context, obj client.Object, _ ...client.DeleteAllOfOption) error {
	return r.note("delete all of", obj)
}

func (r rehearsal) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	_, err := r.change(ctx, obj, func(client.Object) (map[string]any, error) { return content(obj) })
	return err
}

func (r rehearsal) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if patch.Type() != types.MergePatchType {
		return r.note("patch", obj)
	}
	_, err := r.change(ctx, obj, func(now client.Object) (map[string]any, error) { return patched(now, obj, patch) })
	return err
}

// Apply fills what is applied with what the answer would be, nearly: maps are merged,
// what the field manager owns alone and does not apply any more goes, and lists are
// replaced.
func (r rehearsal) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	body, ok := ac.(interface {
		client.Object
		UnstructuredContent() map[string]any
	})
	if !ok {
		*r.would = append(*r.would, fmt.Sprintf("apply a %T", ac))
		return nil
	}
	o := client.ApplyOptions{}
	o.ApplyOptions(opts)
	u := unstructuredOf(body.UnstructuredContent())
	would, err := r.change(ctx, u, func(now client.Object) (map[string]any, error) {
		is, err := content(now)
		if owners, told := fields.Of(now.GetManagedFields(), o.FieldManager, u.GetAPIVersion()); told {
			owners.Prune(is, u.Object)
		}
		return merge(is, u.Object), err
	})
	if err == nil && would != nil {
		setContent(body.UnstructuredContent(), would)
	}
	return err
}

func (r rehearsal) Status() client.SubResourceWriter { return rehearsalOf{r} }

func (r rehearsal) SubResource(name string) client.SubResourceClient {
	return rehearsalClient{rehearsalOf{r}, r.Client.SubResource(name)}
}

// rehearsalOf is the same for a subresource.
type rehearsalOf struct{ rehearsal rehearsal }

func (s rehearsalOf) Create(_ context.Context, obj, _ client.Object, _ ...client.SubResourceCreateOption) error {
	return s.rehearsal.note("create a subresource of", obj)
}

func (s rehearsalOf) Update(ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.rehearsal.Update(ctx, obj)
}

func (s rehearsalOf) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.rehearsal.Patch(ctx, obj, patch)
}

func (s rehearsalOf) Apply(ctx context.Context, ac runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return s.rehearsal.Apply(ctx, ac)
}

type rehearsalClient struct {
	client.SubResourceWriter
	client.SubResourceReader
}
