package chaos

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// unrecordedObjects is how many objects are created while no annotation is stored.
const unrecordedObjects = 10

// dropAnnotations installs an admission policy that drops all annotations of the provider, and creates
// objects: each has to report that, and nothing may be created for it until the policy is gone. The API
// server answers the provider's writes with success all the time.
func (w *world) dropAnnotations(ctx context.Context, res *Result) error {
	w.say("then: a policy drops annotations")

	if err := w.fleet.start(ctx, course{notified: true}); err != nil {
		return err
	}
	defer w.fleet.stop()

	policy, binding := droppingPolicy()
	for _, obj := range []client.Object{policy, binding} {
		if err := w.env.Client.Create(ctx, obj); err != nil {
			return errors.Wrap(err, "cannot install a policy that drops annotations")
		}
	}

	if err := w.awaitPolicy(ctx); err != nil {
		return err
	}

	for i := range unrecordedObjects {
		if err := w.users.insist(ctx, func(ctx context.Context) error {
			return w.env.Client.Create(ctx, unrecorded(i))
		}); err != nil {
			return errors.Wrap(err, "cannot create an object while a policy drops annotations")
		}
	}

	v, text, err := w.settle(ctx, w.lookForUnrecorded)
	if err != nil {
		return err
	}

	for _, obj := range []client.Object{binding, policy} {
		if err := w.env.Client.Delete(ctx, obj); err != nil {
			return errors.Wrap(err, "cannot remove the policy that drops annotations")
		}
	}

	w.happened(drop, "%s", text)

	if v.held() {
		if v, text, err = w.settle(ctx, w.look); err != nil {
			return err
		}
	}

	w.conclude(v, "the policy is gone, and everything is as desired", text, res)

	return nil
}

func unrecorded(i int) *v1alpha1.Stream {
	n := int64(1)

	return &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: devenv.Namespace, Name: fmt.Sprintf("unrecorded%02d", i)},
		Spec:       v1alpha1.StreamSpec{ForProvider: v1alpha1.StreamParameters{Description: new(describe(0)), MaxMsgs: &n}},
	}
}

// lookForUnrecorded finds streams that were created although no record of that was stored, and objects that
// do not say why nothing is created.
func (w *world) lookForUnrecorded(ctx context.Context) (verdict, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()

	assets, err := w.assets(ctx)
	if err != nil {
		return nil, "", err
	}

	v := verdict{}

	for i := range unrecordedObjects {
		mg := unrecorded(i)
		if err := w.env.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return nil, "", errors.Wrap(err, "cannot read an object")
		}

		if c := mg.GetCondition(commonv1.TypeSynced); c.Reason != commonv1.ReasonMarksNotStored {
			v.find(stuck, "Stream %s, whose annotations are dropped, says %s %s: %s", mg.Name, c.Status, c.Reason, c.Message)
		}

		if _, exists := assets[key{stream: mg.Name}]; exists {
			v.find(leaked, "stream %s was created without a stored record", mg.Name)
		}
	}

	return v, fmt.Sprintf("%d objects report that their annotations are dropped, and nothing was created for them",
		unrecordedObjects), nil
}

// droppingPolicy returns a policy that restores the previous annotations of an object, whenever the
// provider writes it.
func droppingPolicy() (*admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding) {
	const name = "drops-annotations.chaos.example.org"

	fail := admissionv1.Fail
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      &fail,
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups: []string{v1alpha1.Group}, APIVersions: []string{"*"},
						Resources: []string{"streams", "keyvalues", "objectstores", "consumers"},
					},
				},
			}}},
			MatchConditions: []admissionv1.MatchCondition{
				{Name: "by-the-provider", Expression: fmt.Sprintf("request.userInfo.username == %q", provider.Name)},
				{Name: "has-annotations", Expression: "has(object.metadata.annotations)"},
			},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: "has(oldObject.metadata.annotations) " +
					`? [JSONPatch{op: "replace", path: "/metadata/annotations", value: oldObject.metadata.annotations}] ` +
					`: [JSONPatch{op: "remove", path: "/metadata/annotations"}]`},
			}},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}

	return policy, binding
}

// policyInForce is how long the API server may take to apply a policy.
const policyInForce = 3 * time.Minute

// awaitPolicy waits until the API server drops an annotation that the provider sends.
func (w *world) awaitPolicy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, policyInForce)
	defer cancel()

	cfg, err := w.env.ProviderConfig(ctx)
	if err != nil {
		return err
	}

	as, err := client.New(cfg, client.Options{Scheme: w.env.Client.Scheme()})
	if err != nil {
		return errors.Wrap(err, "cannot create a client with the credentials of the provider")
	}

	const sent = "chaos.example.org/sent"

	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"x"}}}`, sent))

	return errors.Wrap(w.users.insist(ctx, func(ctx context.Context) error {
		all := &v1alpha1.StreamList{}
		if err := w.env.Client.List(ctx, all, client.InNamespace(devenv.Namespace), client.Limit(1)); err != nil {
			return err
		}

		if len(all.Items) == 0 {
			return errors.New("there is no Stream to try it on")
		}

		if err := as.Patch(ctx, &all.Items[0], patch, client.DryRunAll); err != nil {
			return err
		}

		if _, stored := all.Items[0].Annotations[sent]; stored {
			return errors.New("annotations are stored")
		}

		return nil
	}), "the policy that drops annotations does not come into force")
}
