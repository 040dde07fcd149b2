package managed

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The field managers of kubectl apply.
const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
)

// An Apply says how a manifest would be applied. The zero value is kubectl apply.
type Apply struct {
	// ServerSide means kubectl apply --server-side.
	ServerSide bool

	// FieldManager is the field manager. If it is empty, it is that of kubectl apply.
	FieldManager string

	// Force takes over fields to which other field managers have given another value. Without it, such a field is a
	// conflict. It has an effect only with ServerSide.
	Force bool
}

// Applied returns the object that a manifest would lead to if it were applied. It sends the change as a dry run, so
// that the API server sets defaults and validates it. Nothing is stored. The result has no UID if no object of the name
// is stored.
//
// A field that the manifest no longer has is removed as by kubectl apply: if the annotation
// kubectl.kubernetes.io/last-applied-configuration has it. With ServerSide it is removed if only the FieldManager has
// applied it, or a former kubectl apply without ServerSide.
//
// If this process has no permission to patch or create the object, validated is false. The object is then the stored
// object with the change, without what only the API server knows. Any other refusal of the API server, such as that of
// a webhook or a quota, is an error. With ServerSide and without Force it is a conflict of [kerrors.IsConflict] if
// another field manager has given another value to a field.
//
// The kind of the manifest must have been set up with the manager of the Planner. Applied sends requests to the API
// server, and does not need the caches.
func (p *Planner) Applied(ctx context.Context, manifest *unstructured.Unstructured, how Apply) (
	mg resource.Managed, validated bool, err error) {
	r := p.reconcilerOf(manifest.GroupVersionKind())
	if r == nil {
		return nil, false, p.unknownKind(manifest.GetKind())
	}
	stored, err := p.stored(ctx, manifest)
	if err != nil {
		return nil, false, err
	}
	tried, validated, err := p.tryApply(ctx, stored, manifest, how)
	if err != nil {
		return nil, false, err
	}
	if tried.GetResourceVersion() == "" { // the API server would create it: what it has made up is not that of an object
		tried.SetUID("")
		tried.SetGeneration(0)
		tried.SetCreationTimestamp(metav1.Time{})
	}
	mg = r.newManaged()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(tried.Object, mg, true); err != nil {
		return nil, false, errors.Wrap(err, "cannot decode the manifest")
	}

	return mg, validated, nil
}

// tryApply returns the object that a manifest leads to. The argument stored is the stored object, or nil.
func (p *Planner) tryApply(ctx context.Context, stored, manifest *unstructured.Unstructured, how Apply) (
	tried *unstructured.Unstructured, validated bool, err error) {
	if stored == nil || how.ServerSide {
		return p.tryServerSide(ctx, stored, manifest, how)
	}
	patch, err := clientSidePatch(stored, manifest)
	if err != nil {
		return nil, false, err
	}
	tried, err = p.tryPatch(ctx, stored, patch, cmp.Or(how.FieldManager, clientSideManager))
	if unpermitted(err) {
		return mergedPatch(stored, patch), false, nil
	}

	return tried, err == nil, err
}

// tryServerSide sends a manifest as the dry run of a server-side apply. An object that is not stored is the same for
// any apply.
func (p *Planner) tryServerSide(ctx context.Context, stored, manifest *unstructured.Unstructured, how Apply) (
	tried *unstructured.Unstructured, validated bool, err error) {
	manager := cmp.Or(how.FieldManager, serverSideManager)
	options := []client.ApplyOption{client.DryRunAll, client.FieldOwner(manager)}
	if how.Force {
		options = append(options, client.ForceOwnership)
	}
	tried = manifest.DeepCopy()
	if stored == nil && !how.ServerSide { // kubectl apply creates it, whatever a former object of the name had
		tried.SetManagedFields(nil)
	}
	err = p.manager.Manager.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(tried), options...)
	switch {
	case unpermitted(err) && stored == nil:
		tried = manifest.DeepCopy()
		tried.SetResourceVersion("") // it is not stored, whatever the manifest has

		return tried, false, nil
	case unpermitted(err):
		return mergedPatch(stored, manifest.DeepCopy().Object), false, nil
	case err != nil || stored == nil:
		return tried, err == nil, err
	}
	left, err := withoutFormer(tried, manager)
	if err != nil || left == nil {
		return tried, err == nil, err
	}
	tried, err = p.tryPatch(ctx, stored, mergepatch.Between(stored.Object, left.Object), manager)

	return tried, err == nil, err
}

// tryPatch sends a merge patch of a stored object as a dry run. As for kubectl, an unknown field is an error.
func (p *Planner) tryPatch(ctx context.Context, stored *unstructured.Unstructured, patch map[string]any,
	manager string) (*unstructured.Unstructured, error) {
	tried := stored.DeepCopy()
	if len(patch) == 0 {
		return tried, nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode a patch")
	}

	return tried, p.manager.Manager.GetClient().Patch(ctx, tried, client.RawPatch(types.MergePatchType, data),
		client.DryRunAll, client.FieldOwner(manager), client.FieldValidation(metav1.FieldValidationStrict))
}

// clientSidePatch returns the patch of kubectl apply: what differs between the stored object and the manifest, and the
// removal of what only the manifest of the last kubectl apply has.
func clientSidePatch(stored, manifest *unstructured.Unstructured) (patch map[string]any, err error) {
	current, err := stored.MarshalJSON()
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode the stored object")
	}
	wanted := manifest.DeepCopy()
	wanted.SetManagedFields(nil)
	annotations := wanted.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	wanted.SetAnnotations(annotations)
	applied, err := wanted.MarshalJSON() // as kubectl stores it: with a line break at the end
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode the manifest")
	}
	meta.AddAnnotations(wanted, map[string]string{corev1.LastAppliedConfigAnnotation: string(applied)})
	modified, err := wanted.MarshalJSON()
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode the manifest")
	}
	last := stored.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	data, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(last), modified, current)
	if err != nil {
		return nil, errors.Errorf("cannot compare the manifest with the stored object: its annotation %s is not the JSON "+
			"of an object: correct or remove it", corev1.LastAppliedConfigAnnotation)
	}

	return patch, errors.Wrap(kjson.Unmarshal(data, &patch), "cannot decode a patch")
}

// stored returns the stored object of the name of a manifest, or nil.
func (p *Planner) stored(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(manifest.GroupVersionKind())
	err := p.manager.Manager.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(manifest), stored)
	if gone.Answered(err, manifest.GetName()) {
		return nil, nil
	}

	return stored, errors.Wrap(err, "cannot read the stored object")
}

// unpermitted reports whether the authorizer of the API server has refused a dry run. Admission answers with the same
// code and reason, so the text has to be that of an authorizer.
func unpermitted(err error) bool {
	var status kerrors.APIStatus
	if !kerrors.IsForbidden(err) || !errors.As(err, &status) {
		return false
	}
	_, refusal, _ := strings.Cut(status.Status().Message, " is forbidden: ")
	user, isUser := strings.CutPrefix(refusal, "User ")
	name, err := strconv.QuotedPrefix(user)
	if !isUser || err != nil {
		return false
	}
	refused := strings.TrimPrefix(user, name)

	return strings.HasPrefix(refused, " cannot patch resource ") || strings.HasPrefix(refused, " cannot create resource ")
}

// mergedPatch returns an object with a patch applied.
func mergedPatch(stored *unstructured.Unstructured, patch map[string]any) *unstructured.Unstructured {
	after := &unstructured.Unstructured{Object: mergepatch.Apply(stored.DeepCopy().Object, patch)}
	if !reflect.DeepEqual(stored.Object["spec"], after.Object["spec"]) {
		after.SetGeneration(after.GetGeneration() + 1)
	}

	return after
}
