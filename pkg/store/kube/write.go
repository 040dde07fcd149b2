package kube

import (
	"context"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// attempts is the number of times that a write without a resourceVersion is tried if it conflicts. An API server tries
// a patch as many times.
const attempts = 5

// Create stores a new object. It does not store the status if the type has the subresource status.
func (c *Client) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	dry := isDryRun((&client.CreateOptions{}).ApplyOptions(opts).DryRun)
	k, given, err := c.given(o)
	if err != nil {
		return err
	}
	image, err := k.Create(given, generateName, k.check)
	if err != nil {
		return err
	}
	if dry {
		return c.wouldCreate(ctx, k, image, o)
	}
	stored, err := k.entries.create(ctx, image)
	if err != nil {
		return k.answer(path(image), err)
	}

	return k.into(k.show(stored), o)
}

// wouldCreate handles a dry run of Create. It reads the store, and returns an error if the name is in use.
func (c *Client) wouldCreate(ctx context.Context, k *kind, image map[string]any, o client.Object) error {
	name := nameOf(path(image))
	_, err := c.read(ctx, k, name)
	switch {
	case err == nil:
		return kerrors.NewAlreadyExists(k.Resource, name.Name)
	case !gone.Answered(err, name.Name):
		return err
	}

	return k.into(image, o)
}

// given returns the kind and the JSON of an object to write.
func (c *Client) given(o client.Object) (*kind, map[string]any, error) {
	if _, ok := o.(*metav1.PartialObjectMetadata); ok {
		return nil, nil, kerrors.NewBadRequest("metadata alone cannot be written as a whole: send a patch")
	}
	k, err := c.of(o)
	if err != nil {
		return nil, nil, err
	}
	image, err := imageOf(o)

	return k, image, err
}

// Update replaces everything except the status. If the type has no subresource status, it replaces the whole object.
func (c *Client) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.replace(ctx, "", o, (&client.UpdateOptions{}).ApplyOptions(opts).DryRun)
}

func (c *Client) replace(ctx context.Context, sub string, o client.Object, dryRun []string) error {
	k, given, err := c.given(o)
	if err != nil {
		return err
	}

	return c.change(ctx, k, sub, o, isDryRun(dryRun), func(old map[string]any) (map[string]any, error) {
		return given, k.CheckReplace(old, given)
	})
}

// Patch changes an object with a merge patch or a JSON patch. It returns 415 for server-side apply and strategic merge
// patches.
func (c *Client) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.patch(ctx, "", o, patch, (&client.PatchOptions{}).ApplyOptions(opts))
}

func (c *Client) patch(ctx context.Context, sub string, o client.Object, patch client.Patch,
	opts *client.PatchOptions) error {
	k, err := c.of(o)
	if err != nil {
		return err
	}
	if opts.Force != nil && patch.Type() != types.ApplyPatchType {
		return k.Invalid(o.GetName(), field.Forbidden(field.NewPath("force"),
			"may not be specified for non-apply patch"))
	}
	data, err := patch.Data(o)
	if err != nil {
		return err
	}

	return c.change(ctx, k, sub, o, isDryRun(opts.DryRun), func(old map[string]any) (map[string]any, error) {
		return k.patched(old, patch.Type(), data)
	})
}

// patched returns the stored JSON object with a patch applied. A store has no managed fields and no patch strategies.
func (k *kind) patched(old map[string]any, t types.PatchType, data []byte) (map[string]any, error) {
	switch t {
	case types.ApplyPatchType, types.ApplyCBORPatchType:
		return nil, unsupported("server-side apply", "use a merge patch")
	case types.StrategicMergePatchType:
		return nil, unsupported("a strategic merge patch", "use a merge patch")
	default:
		return k.Patch(old, t, data)
	}
}

// change applies with to the stored object and writes the result. If the write conflicts, change reads and applies
// again, up to the number of attempts. A request with a resourceVersion is not tried again: it returns the conflict. A
// dry run ends before the write.
func (c *Client) change(ctx context.Context, k *kind, sub string, o client.Object, dry bool,
	with func(map[string]any) (map[string]any, error)) error {
	if sub != "" && (sub != apicore.FieldStatus || !k.HasStatus) {
		return kerrors.NewNotFound(k.Resource, o.GetName())
	}
	key := client.ObjectKeyFromObject(o)
	for attempt := 1; ; attempt++ {
		old, err := c.read(ctx, k, key)
		if err != nil {
			return err
		}
		given, err := with(old)
		if err != nil {
			return err
		}
		image, err := k.Update(apicore.Update{Stored: old, Given: given, Subresource: sub, Check: k.checkForm})
		if err == nil {
			err = k.fits(image)
		}
		if err != nil {
			return err
		}
		if dry {
			return k.into(k.show(image), o)
		}
		if image, err = k.entries.update(ctx, image, sub); errors.Is(err, store.ErrConflict) && attempt < attempts {
			continue
		}
		if err != nil {
			return k.answer(path(old), err)
		}

		return k.into(k.show(image), o)
	}
}

// Delete removes an object, or sets its deletion timestamp if it has finalizers.
func (c *Client) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	k, err := c.of(o)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(o)
	for attempt := 1; ; attempt++ {
		old, err := c.read(ctx, k, key)
		if err != nil {
			return err
		}
		if err := k.CheckPreconditions(old, options.Preconditions); err != nil {
			return err
		}
		if isDryRun(options.DryRun) {
			return nil
		}
		revision, err := revisionOf(old)
		if err != nil {
			return err
		}
		err = k.entries.remove(ctx, path(old), store.IfRevision(revision))
		if errors.Is(err, store.ErrConflict) && attempt < attempts {
			continue
		}

		return k.answer(path(old), err)
	}
}

// DeleteAllOf lists the selected objects and deletes them one by one.
func (c *Client) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	k, err := c.of(o)
	if err != nil {
		return err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.GVK.GroupVersion().WithKind(k.GVK.Kind + "List"))
	if err := c.List(ctx, list, &options.ListOptions); err != nil {
		return err
	}
	for i := range list.Items {
		item := &list.Items[i]
		item.SetGroupVersionKind(k.GVK)
		if err := c.Delete(ctx, item, &options.DeleteOptions); gone.Ignore(err, item.GetName()) != nil {
			return err
		}
	}

	return nil
}

// isDryRun returns whether the options of a write request a dry run. The only value that Kubernetes allows is All.
func isDryRun(dryRun []string) bool { return len(dryRun) > 0 }
