package serviceprovider

import (
	"context"
	"encoding/json"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/merge"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// writeStatus patches the changed fields of the status, with the resourceVersion of this pass. If nothing has changed,
// it sends no request. After a conflict it once merges our changes into the stored status.
func (p *pass[T, C]) writeStatus(ctx context.Context) error {
	body, err := statusPatch(p.base, p.obj)
	if err != nil || body == nil {
		return err
	}
	err = p.patchStatus(ctx, p.obj.GetResourceVersion(), body)
	if !kerrors.IsConflict(err) {
		return err
	}
	live := p.r.newObject()
	if err := p.r.onboarding.Client().Get(ctx, p.req.NamespacedName, live); err != nil {
		return errors.Wrap(gone.Ignore(err, p.req.Name), "cannot get the object")
	}
	if live.GetUID() != p.obj.GetUID() {
		return nil
	}
	if _, changed := body["conditions"]; changed {
		body["conditions"] = mergeConditions(p.storedConditions(), *p.obj.GetConditions(), *live.GetConditions())
	}

	return p.patchStatus(ctx, live.GetResourceVersion(), body)
}

// recordRelease writes the status, in which ServiceCreated is False, before access is released. If the process ends in
// between, the next process can see that this runtime has released access, and not a third party. A conflict ends the
// pass, so that the change of the other writer is read before access is released.
func (p *pass[T, C]) recordRelease(ctx context.Context) error {
	if !p.facts.CreationRecorded {
		return nil
	}
	p.updateStatus(*p.releasingOutcome())
	body, err := statusPatch(p.base, p.obj)
	if err != nil || body == nil {
		return err
	}
	if err := p.patchStatus(ctx, p.obj.GetResourceVersion(), body); err != nil {
		return err
	}
	p.base, p.secrets.cachedMask = p.copyObject(), nil

	return nil
}

// patchStatus sends a merge patch of the status with an optimistic lock. It stores the resourceVersion of the response
// in the object.
func (p *pass[T, C]) patchStatus(ctx context.Context, version string, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": status})
	if err != nil {
		return errors.Wrap(err, "cannot encode the status")
	}
	sent := p.copyObject() // the response is decoded into it
	err = p.r.onboarding.Client().Status().Patch(ctx, sent, client.RawPatch(types.MergePatchType, body))
	if err == nil {
		p.state.writtenVersion = sent.GetResourceVersion()
		p.obj.SetResourceVersion(p.state.writtenVersion)
	}

	err = gone.IgnoreConfirmed(ctx, p.r.onboarding.Client(), p.obj, err)

	return errors.Wrap(err, "cannot update the status")
}

// statusPatch returns the merge patch that changes from into to. It returns nil if they are equal.
func statusPatch[T API](from, to T) (map[string]any, error) {
	before, err := toJSON(from.GetStatus())
	if err != nil {
		return nil, err
	}
	after, err := toJSON(to.GetStatus())
	if err != nil {
		return nil, err
	}
	a := &unstructured.Unstructured{Object: map[string]any{"status": before}}
	b := &unstructured.Unstructured{Object: map[string]any{"status": after}}
	body, err := client.MergeFrom(a).Data(b)
	if err != nil {
		return nil, errors.Wrap(err, "cannot compare the status")
	}
	var patch struct{ Status map[string]any }
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, errors.Wrap(err, "cannot compare the status")
	}

	return patch.Status, nil
}

// toJSON encodes v as JSON and returns the decoded JSON.
func toJSON(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode the status")
	}
	var image any

	return image, errors.Wrap(json.Unmarshal(text, &image), "cannot encode the status")
}

// mergeConditions applies our changes, which are the differences between base and mine, to the newest conditions. It
// compares conditions by type. It does not change the conditions of other writers.
func mergeConditions(base, mine, newest []metav1.Condition) []metav1.Condition {
	return merge.Elements[metav1.Condition, string]{
		Key:   func(c metav1.Condition) string { return c.Type },
		Equal: func(a, b metav1.Condition) bool { return a == b },
		Set:   func(list *[]metav1.Condition, c metav1.Condition) { apimeta.SetStatusCondition(list, c) },
	}.Changes(base, mine, newest)
}
