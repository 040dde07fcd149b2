package serviceprovider

import (
	"context"
	"encoding/json"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// writeStatus sends what differs in the status, if anything does: the status alone, with
// the version that this pass knows. If somebody else was faster, our changes are put on
// what they wrote, once.
func (p *pass[T, C]) writeStatus(ctx context.Context) error {
	body, err := statusPatch(p.base, p.obj)
	if err != nil || body == nil {
		return err
	}
	err = p.sendStatus(ctx, p.obj.GetResourceVersion(), body)
	if !kerrors.IsConflict(err) {
		return err
	}
	live := p.r.empty()
	if err := p.r.onboarding.Client().Get(ctx, p.req.NamespacedName, live); err != nil {
		return errors.Wrap(gone.Ignore(err, p.req.Name), "cannot get the object")
	}
	if live.GetUID() != p.obj.GetUID() {
		return nil
	}
	if _, changed := body["conditions"]; changed {
		body["conditions"] = mergeConditions(p.storedConditions(), *p.obj.GetConditions(), *live.GetConditions())
	}

	return p.sendStatus(ctx, live.GetResourceVersion(), body)
}

// record stores that access is given back, before it is, in the place of our record that something
// was made. If the process ends between the two, the next one knows that nobody else did that. A
// conflict ends the pass: what somebody else wrote is read before anything is given back.
func (p *pass[T, C]) record(ctx context.Context) error {
	if !p.facts.Record {
		return nil
	}
	p.describe(*p.withdrawing())
	body, err := statusPatch(p.base, p.obj)
	if err != nil || body == nil {
		return err
	}
	if err := p.sendStatus(ctx, p.obj.GetResourceVersion(), body); err != nil {
		return err
	}
	p.base, p.secrets.masked = p.copied(), nil

	return nil
}

func (p *pass[T, C]) sendStatus(ctx context.Context, version string, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": status})
	if err != nil {
		return errors.Wrap(err, "cannot encode the status")
	}
	sent := p.copied() // the answer is decoded into what is sent
	err = p.r.onboarding.Client().Status().Patch(ctx, sent, client.RawPatch(types.MergePatchType, body))
	if err == nil {
		p.known.version = sent.GetResourceVersion()
		p.obj.SetResourceVersion(p.known.version)
	}

	err = gone.IgnoreConfirmed(ctx, p.r.onboarding.Client(), p.obj, err)

	return errors.Wrap(err, "cannot update the status")
}

// statusPatch returns the merge patch from one status to the other, nil if they are the
// same.
func statusPatch[T API](from, to T) (map[string]any, error) {
	before, err := jsonOf(from.GetStatus())
	if err != nil {
		return nil, err
	}
	after, err := jsonOf(to.GetStatus())
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

// jsonOf returns the JSON image of a value.
func jsonOf(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode the status")
	}
	var image any

	return image, errors.Wrap(json.Unmarshal(text, &image), "cannot encode the status")
}

// mergeConditions puts our changes, from base to mine, on the newest conditions, type by
// type: those of others stay.
func mergeConditions(base, mine, newest []metav1.Condition) []metav1.Condition {
	merged := slices.DeleteFunc(slices.Clone(newest), func(c metav1.Condition) bool {
		return apimeta.FindStatusCondition(base, c.Type) != nil && apimeta.FindStatusCondition(mine, c.Type) == nil
	})
	for _, c := range mine {
		if old := apimeta.FindStatusCondition(base, c.Type); old == nil || *old != c {
			apimeta.SetStatusCondition(&merged, c)
		}
	}

	return merged
}
