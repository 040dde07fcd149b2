package translator

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/fields"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/passcontext"
)

// reasonSyncError is the reason of the event for a failed write. Users of virtual
// clusters know it.
const reasonSyncError = "SyncError"

// noVersion is a resourceVersion that no object has. If the object exists, an apply with noVersion
// fails with a conflict. If the object does not exist, the API server ignores noVersion and creates
// the object. Therefore the apply never changes an object of another client. Unlike after a create,
// the applier owns the fields from the start.
var noVersion = strconv.FormatInt(math.MaxInt64, 10)

// A writer writes host objects for one call.
type writer struct {
	ctx     context.Context //nolint:containedctx // lives for one call
	client  client.Client
	owner   string
	replace bool
}

// newWriter returns a writer with the settings of the pass. Outside of a pass it uses the defaults.
func newWriter(ctx *synccontext.SyncContext, syncer string) writer {
	w := writer{ctx: ctx.Context, client: ctx.PhysicalClient, owner: DefaultFieldOwner(syncer)}
	if p := passcontext.From(ctx.Context); p != nil {
		w.replace = p.Replace
		if p.FieldOwner != "" {
			w.owner = p.FieldOwner
		}
	}
	return w
}

// DefaultFieldOwner returns the default field manager of a syncer's writes to the host.
func DefaultFieldOwner(syncer string) string { return "moorage-syncer-" + syncer }

// create creates a host object. If the object exists, the error is a conflict; if replace is set,
// it is AlreadyExists.
func (w writer) create(pObj client.Object) error {
	if w.replace {
		return w.client.Create(w.ctx, pObj, client.FieldOwner(w.owner))
	}
	body, err := w.content(pObj)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: body}
	u.SetResourceVersion(noVersion)
	return w.apply(u, pObj)
}

// update sends the difference between the cached host object and pObj. If the host object
// was changed since pObj was read, the error is a conflict.
func (w writer) update(pObj client.Object) error {
	if w.replace {
		return w.client.Update(w.ctx, pObj, client.FieldOwner(w.owner))
	}
	before := pObj.DeepCopyObject().(client.Object)
	err := w.client.Get(w.ctx, client.ObjectKeyFromObject(pObj), before)
	switch {
	case gone.Answered(err, pObj.GetName()) || err == nil && before.GetResourceVersion() != pObj.GetResourceVersion():
		return newConflict(pObj)
	case err != nil:
		return err
	}
	data, err := client.MergeFrom(before).Data(pObj)
	if err != nil {
		return errors.Wrap(err, "cannot compare the host object with the desired one")
	}
	if string(data) == "{}" {
		return nil
	}
	u, err := w.applyBody(before, pObj, data)
	if err != nil {
		return err
	}
	if u == nil {
		return w.client.Patch(w.ctx, pObj, withVersion(data, before.GetResourceVersion()), client.FieldOwner(w.owner))
	}
	return w.apply(u, pObj)
}

// applyBody returns the object to apply. It returns nil if an apply cannot express the change: to
// remove a field of another manager, a patch is needed.
func (w writer) applyBody(before, after client.Object, data []byte) (*unstructured.Unstructured, error) {
	gvk, err := w.client.GroupVersionKindFor(after)
	if err != nil {
		return nil, err
	}
	owners, ok := fields.Of(before.GetManagedFields(), w.owner, gvk.GroupVersion().String())
	if !ok {
		return nil, nil
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	old, err := w.content(before)
	if err != nil {
		return nil, err
	}
	if !owners.Remove(patch, old) {
		return nil, nil
	}
	now, err := w.content(after)
	if err != nil {
		return nil, err
	}
	body := owners.Mine.Project(now)
	fields.Overlay(body, patch, now)
	u := &unstructured.Unstructured{Object: body}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(after.GetNamespace())
	u.SetName(after.GetName())
	u.SetUID(before.GetUID()) // the apply fails for another object of that name
	return u, nil
}

// apply applies the object and decodes the response into pObj.
func (w writer) apply(u *unstructured.Unstructured, pObj client.Object) error {
	err := w.client.Apply(
		w.ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(w.owner), client.ForceOwnership)
	switch {
	case isReplaced(err):
		return newConflict(pObj)
	case err != nil:
		return err
	}
	return decodeInto(pObj, u)
}

// content returns an object without the fields that the API server sets.
func (w writer) content(obj client.Object) (map[string]any, error) {
	gvk, err := w.client.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot convert the host object")
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	u.SetGroupVersionKind(gvk)
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"managedFields", "selfLink",
	} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object, nil
}

// decodeInto decodes the response of the API server into the object.
func decodeInto(obj client.Object, u *unstructured.Unstructured) error {
	if into, untyped := obj.(*unstructured.Unstructured); untyped {
		into.Object = u.Object
		return nil
	}
	return errors.Wrap(
		runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj), "cannot decode the response of the API server")
}

// withVersion returns a merge patch with a resourceVersion. The patch fails if the object was
// changed in between.
func withVersion(data []byte, version string) client.Patch {
	patch := map[string]any{}
	// A merge patch of MergeFrom is a JSON object.
	_ = json.Unmarshal(data, &patch)
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = version
	patch["metadata"] = metadata
	data, _ = json.Marshal(patch)
	return client.RawPatch(types.MergePatchType, data)
}

// isReplaced reports whether a write failed because the object has another UID by now. The API
// server then returns an Invalid error.
func isReplaced(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}

// newConflict returns the conflict error for a host object.
func newConflict(obj client.Object) error {
	return apierrors.NewConflict(schema.GroupResource{
		Resource: obj.GetObjectKind().GroupVersionKind().Kind,
	}, obj.GetName(),
		errors.New("the host object was modified in between"))
}

// reportError returns the error. Outside of a pass it also emits an event. Within a pass the
// reconciler emits the event.
func (n *namespaced) reportError(ctx *synccontext.SyncContext, vObj client.Object, err error) (ctrl.Result, error) {
	if err != nil && passcontext.From(ctx.Context) == nil && n.recorder != nil {
		n.recorder.Eventf(vObj, corev1.EventTypeWarning, reasonSyncError, "Error syncing to physical cluster: %v", err)
	}
	return ctrl.Result{}, err
}
