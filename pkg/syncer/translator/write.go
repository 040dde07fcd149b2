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

// reasonSyncError is the event reason that users of virtual clusters know.
const reasonSyncError = "SyncError"

// noVersion is a resourceVersion that no object has. An apply that carries it meets
// a conflict if there is an object; if there is none, the API server ignores it and
// creates one. So the fields belong to the apply from the start, which they would
// not after a create, and nothing is ever applied to what somebody else made.
var noVersion = strconv.FormatInt(math.MaxInt64, 10)

// A writer writes host objects in one pass.
type writer struct {
	ctx     context.Context //nolint:containedctx // lives for one call
	client  client.Client
	owner   string
	replace bool
}

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

// DefaultFieldOwner returns the field manager under which a syncer of that name
// writes to the host, unless its options say another.
func DefaultFieldOwner(syncer string) string { return "moorage-syncer-" + syncer }

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

func (w writer) update(pObj client.Object) error {
	if w.replace {
		return w.client.Update(w.ctx, pObj, client.FieldOwner(w.owner))
	}
	before := pObj.DeepCopyObject().(client.Object)
	err := w.client.Get(w.ctx, client.ObjectKeyFromObject(pObj), before)
	switch {
	case gone.Answered(err, pObj.GetName()) || err == nil && before.GetResourceVersion() != pObj.GetResourceVersion():
		return changed(pObj)
	case err != nil:
		return err
	}
	data, err := client.MergeFrom(before).Data(pObj)
	if err != nil {
		return errors.Wrap(err, "cannot compare the host object with what it should be")
	}
	if string(data) == "{}" {
		return nil
	}
	u, err := w.body(before, pObj, data)
	if err != nil {
		return err
	}
	if u == nil {
		return w.client.Patch(w.ctx, pObj, bound(data, before.GetResourceVersion()), client.FieldOwner(w.owner))
	}
	return w.apply(u, pObj)
}

// body returns what to apply, or nil if applying cannot bring the change about:
// removing what another manager owns takes a patch.
func (w writer) body(before, after client.Object, data []byte) (*unstructured.Unstructured, error) {
	gvk, err := w.client.GroupVersionKindFor(after)
	if err != nil {
		return nil, err
	}
	owners, told := fields.Of(before.GetManagedFields(), w.owner, gvk.GroupVersion().String())
	if !told {
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
	u.SetUID(before.GetUID()) // never lands on another object of that name
	return u, nil
}

// apply sends the body and fills the object with the answer.
func (w writer) apply(u *unstructured.Unstructured, pObj client.Object) error {
	err := w.client.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(w.owner), client.ForceOwnership)
	switch {
	case replaced(err):
		return changed(pObj)
	case err != nil:
		return err
	}
	return fill(pObj, u)
}

// content returns an object as it is sent: without what only the server knows.
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
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object, nil
}

func fill(obj client.Object, u *unstructured.Unstructured) error {
	if into, untyped := obj.(*unstructured.Unstructured); untyped {
		into.Object = u.Object
		return nil
	}
	return errors.Wrap(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj), "cannot read the answer of the API server")
}

// bound makes a merge patch fail if the object was changed in between.
func bound(data []byte, version string) client.Patch {
	patch := map[string]any{}
	// What MergeFrom made is a JSON object.
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

// replaced tells whether the object that was to be changed is another one by now.
// The API server calls that invalid.
func replaced(err error) bool {
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

func changed(obj client.Object) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: obj.GetObjectKind().GroupVersionKind().Kind}, obj.GetName(),
		errors.New("the host object was changed in between"))
}

// told returns the error, and tells the user of it unless the pass does.
func (n *namespaced) told(ctx *synccontext.SyncContext, vObj client.Object, err error) (ctrl.Result, error) {
	if err != nil && passcontext.From(ctx.Context) == nil && n.recorder != nil {
		n.recorder.Eventf(vObj, corev1.EventTypeWarning, reasonSyncError, "Error syncing to physical cluster: %v", err)
	}
	return ctrl.Result{}, err
}
