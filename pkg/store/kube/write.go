package kube

import (
	"context"
	"net/http"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/patch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// attempts is how often a write without a resourceVersion is tried when it conflicts.
// An API server tries a patch as often.
const attempts = 5

// Create stores a new object, without its status if that is a subresource.
func (c *Client) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	dry := isDryRun((&client.CreateOptions{}).ApplyOptions(opts).DryRun)
	k, given, err := c.given(o)
	if err != nil {
		return err
	}
	m := metadataOf(given)
	for _, own := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"generation", "managedFields", "selfLink"} {
		delete(m, own)
	}
	generateName(m)
	if err := k.checkForm(given); err != nil {
		return err
	}
	if err := k.fits(given); err != nil {
		return err
	}
	if m["resourceVersion"] != nil {
		return &kerrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "resourceVersion should not be set on objects to be created",
		}}
	}
	if dry {
		return c.wouldCreate(ctx, k, given, o)
	}
	image, err := k.entries.create(ctx, given)
	if err != nil {
		return k.answer(path(given), err)
	}

	return k.into(k.show(image), o)
}

// wouldCreate answers a dry run of a creation. It reads the store, so that a name that
// is in use is refused.
func (c *Client) wouldCreate(ctx context.Context, k *kind, given map[string]any, o client.Object) error {
	name := nameOf(path(given))
	_, err := c.read(ctx, k, name)
	switch {
	case err == nil:
		return kerrors.NewAlreadyExists(k.resource(), name.Name)
	case !gone.Answered(err, name.Name):
		return err
	}
	if k.hasStatus {
		delete(given, fieldStatus)
	}

	return k.into(given, o)
}

// given returns the kind and the image of an object to write. The image has metadata.
func (c *Client) given(o client.Object) (*kind, map[string]any, error) {
	if _, ok := o.(*metav1.PartialObjectMetadata); ok {
		return nil, nil, kerrors.NewBadRequest("metadata alone cannot be written as a whole: send a patch")
	}
	k, err := c.of(o)
	if err != nil {
		return nil, nil, err
	}
	image, err := imageOf(o)
	if err != nil {
		return nil, nil, err
	}
	if metadataOf(image) == nil {
		image[fieldMetadata] = map[string]any{}
	}
	image["apiVersion"], image["kind"] = k.gvk.GroupVersion().String(), k.gvk.Kind

	return k, image, nil
}

// Update replaces all but the status, or the whole object if its status is no
// subresource.
func (c *Client) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.replace(ctx, "", o, (&client.UpdateOptions{}).ApplyOptions(opts).DryRun)
}

func (c *Client) replace(ctx context.Context, sub string, o client.Object, dryRun []string) error {
	k, given, err := c.given(o)
	if err != nil {
		return err
	}
	m := metadataOf(given)

	return c.change(ctx, k, sub, o, isDryRun(dryRun), func(old map[string]any) (map[string]any, error) {
		if uid := m["uid"]; uid != nil && uid != metadataOf(old)["uid"] {
			return nil, kerrors.NewConflict(k.resource(), o.GetName(),
				errors.Errorf("Precondition failed: UID in precondition: %v", uid))
		}
		if k.custom && m["resourceVersion"] == nil {
			return nil, k.invalid(o.GetName(),
				field.Invalid(field.NewPath(fieldMetadata, "resourceVersion"), 0, "must be specified for an update"))
		}

		return cloned(given), nil
	})
}

// Patch changes an object by a merge patch or a JSON patch. Server-side apply and
// strategic merge patches are answered with 415.
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
		return k.invalid(o.GetName(), field.Forbidden(field.NewPath("force"),
			"may not be specified for non-apply patch"))
	}
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	name := o.GetName()

	return c.change(ctx, k, sub, o, isDryRun(opts.DryRun), func(old map[string]any) (map[string]any, error) {
		image, err := k.patched(name, old, patch.Type(), data)
		if err != nil {
			return nil, err
		}
		if metadataOf(image)["name"] != name {
			return nil, kerrors.NewBadRequest("the name of the object does not match the name on the URL")
		}

		return image, nil
	})
}

// patched returns the image with a patch applied. A store has no managed fields and no patch strategies.
func (k *kind) patched(name string, image map[string]any, t types.PatchType, data []byte) (map[string]any, error) {
	switch t {
	case types.ApplyPatchType, types.ApplyCBORPatchType:
		return nil, unsupported("server-side apply", "use a merge patch")
	case types.StrategicMergePatchType:
		return nil, unsupported("a strategic merge patch", "use a merge patch")
	default:
		return patch.Apply(k.resource(), name, image, t, data)
	}
}

// change applies with to the stored object and writes the result. If the write
// conflicts, it reads and applies again, unless the request names a version: that is
// a conflict. A dry run ends before the write.
func (c *Client) change(ctx context.Context, k *kind, sub string, o client.Object, dry bool,
	with func(map[string]any) (map[string]any, error)) error {
	if sub != "" && (sub != fieldStatus || !k.hasStatus) {
		return kerrors.NewNotFound(k.resource(), o.GetName())
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
		given = withMetadata(given)
		if metadataOf(given)["resourceVersion"] == "" {
			delete(metadataOf(given), "resourceVersion")
		}
		pinned := metadataOf(given)["resourceVersion"]
		if pinned != nil && pinned != metadataOf(old)["resourceVersion"] {
			return k.conflict(key.Name)
		}
		image, err := k.next(old, given, sub)
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

// next returns the object to write. The subresource decides which part of a change
// counts: all but the status, or only the status.
func (k *kind) next(old, given map[string]any, sub string) (map[string]any, error) {
	image := given
	switch {
	case sub != "":
		image = cloned(old)
		copyField(image, given, fieldStatus)
	case k.hasStatus:
		image = cloned(given)
		copyField(image, old, fieldStatus)
	}
	image = withMetadata(image)
	image["apiVersion"], image["kind"] = k.gvk.GroupVersion().String(), k.gvk.Kind
	m, before := metadataOf(image), metadataOf(old)
	uid := m["uid"]
	for _, own := range []string{
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion",
		"uid", "namespace", "generateName",
	} {
		copyField(m, before, own)
	}
	delete(m, "managedFields")
	delete(m, "selfLink")
	if generation, ok := m["generation"].(int64); ok && !sameBody(old, image) {
		m["generation"] = generation + 1 // the store counts by itself; this is for what is removed
	}
	if err := k.checkForm(image); err != nil {
		return nil, err
	}
	if uid != nil && uid != "" && uid != before["uid"] {
		return nil, k.invalid(nameOf(path(old)).Name,
			field.Invalid(field.NewPath(fieldMetadata, "uid"), uid, "field is immutable"))
	}
	if err := k.checkFinalizers(before, m); err != nil {
		return nil, err
	}

	return image, k.fits(image)
}

// copyField copies a field of another object, or removes it if the other has none.
func copyField(to, from map[string]any, field string) {
	if value, ok := from[field]; ok {
		to[field] = value
	} else {
		delete(to, field)
	}
}

// Delete removes an object, or marks it if it has finalizers.
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
		m := metadataOf(old)
		if err := k.checkPreconditions(key.Name, m, options.Preconditions); err != nil {
			return err
		}
		if isDryRun(options.DryRun) {
			return nil
		}
		revision, err := revisionOf(m)
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

func (k *kind) checkPreconditions(name string, m map[string]any, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	if uid := ptr.Deref(p.UID, ""); p.UID != nil && string(uid) != m["uid"] {
		return kerrors.NewConflict(k.resource(), name, errors.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%v). The object might have been deleted "+
				"and then recreated", uid, m["uid"]))
	}
	if version := ptr.Deref(p.ResourceVersion, ""); p.ResourceVersion != nil && version != m["resourceVersion"] {
		return kerrors.NewConflict(k.resource(), name, errors.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%v). The object "+
				"might have been modified",
			version, m["resourceVersion"]))
	}

	return nil
}

// DeleteAllOf lists the selected objects and deletes them one by one.
func (c *Client) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	k, err := c.of(o)
	if err != nil {
		return err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	if err := c.List(ctx, list, &options.ListOptions); err != nil {
		return err
	}
	for i := range list.Items {
		item := &list.Items[i]
		item.SetGroupVersionKind(k.gvk)
		if err := c.Delete(ctx, item, &options.DeleteOptions); gone.Ignore(err, item.GetName()) != nil {
			return err
		}
	}

	return nil
}

// isDryRun reports whether the options of a write request a dry run: All is the only
// value.
func isDryRun(dryRun []string) bool { return len(dryRun) > 0 }
