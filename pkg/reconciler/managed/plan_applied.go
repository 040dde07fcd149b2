package managed

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Apply says how a manifest would be applied. The zero value is kubectl apply.
type Apply struct {
	// ServerSide means kubectl apply --server-side.
	ServerSide bool
	// FieldManager is the field manager. It is "kubectl" if it is empty.
	FieldManager string
	// Force takes over fields that other field managers have applied with another value. Without it, such a field is an
	// error, as for kubectl. It has an effect only with ServerSide.
	Force bool
}

// Applied returns the object that a manifest would lead to if it were applied, by how. It sends the change as a dry
// run, so that the API server sets defaults and validates it. Nothing is stored. The result has no UID if no object of
// the name is stored.
//
// Without ServerSide, a field that the manifest no longer has is removed if the last kubectl apply has set it, as the
// annotation kubectl.kubernetes.io/last-applied-configuration says. With ServerSide, it is removed if only the
// FieldManager has applied it by server-side apply.
//
// If this process has no permission to patch or create the object, validated is false: the object is then the stored
// object with what the manifest sets, or the manifest as it is if no object of the name is stored. Any other refusal of
// the API server, such as that of a webhook or a quota, is an error.
//
// The kind of the manifest must have been set up with the manager of the Planner. Applied sends requests to the API
// server, and does not need the caches.
func (p *Planner) Applied(ctx context.Context, manifest *unstructured.Unstructured, how Apply) (
	mg resource.Managed, validated bool, err error) {
	r := p.reconcilerOf(manifest.GroupVersionKind())
	if r == nil {
		return nil, false, p.unknownKind(manifest.GetKind())
	}
	if how.FieldManager == "" {
		how.FieldManager = "kubectl"
	}
	stored, err := p.stored(ctx, manifest)
	if err != nil {
		return nil, false, err
	}
	tried, err := p.tryApply(ctx, stored, manifest, how)
	if validated = err == nil; unpermitted(err) {
		tried, err = merged(stored, manifest), nil
	}
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

// tryApply sends a manifest as a dry run, and returns what would be stored. The argument stored is the stored object,
// or nil.
func (p *Planner) tryApply(ctx context.Context, stored, manifest *unstructured.Unstructured, how Apply) (
	*unstructured.Unstructured, error) {
	c := p.manager.Manager.GetClient()
	if stored != nil && !how.ServerSide {
		return patched(ctx, c, stored, manifest, how)
	}
	tried := manifest.DeepCopy()
	tried.SetManagedFields(nil)
	options := []client.ApplyOption{client.DryRunAll, client.FieldOwner(how.FieldManager)}
	if how.Force {
		options = append(options, client.ForceOwnership)
	}

	return tried, c.Apply(ctx, client.ApplyConfigurationFromUnstructured(tried), options...)
}

// patched sends the patch of kubectl apply as a dry run: the difference between the stored object and the manifest, and
// the removal of what only the manifest of the last kubectl apply has.
func patched(ctx context.Context, c client.Client, stored, manifest *unstructured.Unstructured, how Apply) (
	*unstructured.Unstructured, error) {
	current, err := stored.MarshalJSON()
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode the stored object")
	}
	wanted, err := manifest.MarshalJSON()
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode the manifest")
	}
	last := stored.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(last), wanted, current)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot compare the manifest with the stored object: is its annotation %s valid JSON?",
			corev1.LastAppliedConfigAnnotation)
	}
	tried := stored.DeepCopy()
	if string(patch) == "{}" {
		return tried, nil
	}

	return tried, c.Patch(ctx, tried, client.RawPatch(types.MergePatchType, patch), client.DryRunAll,
		client.FieldOwner(how.FieldManager))
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

// merged returns the stored object with what a manifest sets, or the manifest if nothing is stored.
func merged(stored, manifest *unstructured.Unstructured) *unstructured.Unstructured {
	if stored == nil {
		return manifest.DeepCopy()
	}
	after := &unstructured.Unstructured{Object: mergepatch.Apply(stored.DeepCopy().Object, manifest.DeepCopy().Object)}
	if !reflect.DeepEqual(stored.Object["spec"], after.Object["spec"]) {
		after.SetGeneration(after.GetGeneration() + 1)
	}

	return after
}
