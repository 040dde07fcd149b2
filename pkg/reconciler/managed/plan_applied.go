package managed

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Applied returns the object that a manifest would lead to if it were applied by server-side apply with force, as the
// field manager given. It sends the manifest as a dry run, so that the API server sets defaults and validates it.
// Nothing is stored. The result has no UID if no object of the name is stored.
//
// If this process has no permission to patch or create the object, validated is false: the object is then the stored
// object with what the manifest sets, or the manifest as it is if no object of the name is stored. Any other refusal of
// the API server, such as that of a webhook or a quota, is an error.
//
// The kind of the manifest must have been set up with the manager of the Planner. Applied sends requests to the API
// server, and does not need the caches.
func (p *Planner) Applied(ctx context.Context, manifest *unstructured.Unstructured,
	fieldManager string) (mg resource.Managed, validated bool, err error) {
	r := p.reconcilerOf(manifest.GroupVersionKind())
	if r == nil {
		return nil, false, p.unknownKind(manifest.GetKind())
	}
	tried := manifest.DeepCopy()
	tried.SetManagedFields(nil)
	err = p.manager.Manager.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(tried), client.DryRunAll,
		client.ForceOwnership, client.FieldOwner(fieldManager))
	if unpermitted(err) {
		tried, err = p.merged(ctx, r, manifest)
	} else {
		validated = err == nil
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

// merged returns the stored object of the name of a manifest with what the manifest sets, or the manifest.
func (p *Planner) merged(ctx context.Context, r *Reconciler,
	manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	stored := r.newManaged()
	err := p.manager.Manager.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(manifest), stored)
	if gone.Answered(err, manifest.GetName()) {
		return manifest.DeepCopy(), nil
	}
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the stored object")
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the stored object")
	}
	after := &unstructured.Unstructured{Object: mergepatch.Apply(before, manifest.DeepCopy().Object)}
	if !reflect.DeepEqual(before["spec"], after.Object["spec"]) {
		after.SetGeneration(after.GetGeneration() + 1)
	}

	return after, nil
}
