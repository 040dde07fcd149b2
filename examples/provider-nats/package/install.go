package manifests

import (
	"context"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	installed        = 3 * time.Minute // on a slow machine, too
	establishedEvery = 50 * time.Millisecond
)

// Install installs or updates the kinds and the role, and returns when the kinds are served. The client
// must know the kinds CustomResourceDefinition and ClusterRole. It may be called concurrently.
func Install(ctx context.Context, c client.Client) error {
	crds, err := CRDs()
	if err != nil {
		return err
	}

	for _, crd := range crds {
		if err := installCRD(ctx, c, crd); err != nil {
			return errors.Wrapf(err, "cannot install %s", crd.GetName())
		}
	}

	role, err := Role()
	if err != nil {
		return err
	}

	return errors.Wrapf(put(ctx, c, role, &rbacv1.ClusterRole{}), "cannot install role %s", role.GetName())
}

// InstallUnclaimed installs or updates the policy by which objects are created with a finalizer. The API
// server applies it some seconds later, and refuses to create objects until it knows their kinds. It may be
// called concurrently.
func InstallUnclaimed(ctx context.Context, c client.Client) error {
	policy, binding, err := Unclaimed()
	if err != nil {
		return err
	}

	if err := put(ctx, c, policy, &admissionv1.MutatingAdmissionPolicy{}); err != nil {
		return errors.Wrapf(err, "cannot install policy %s", policy.GetName())
	}

	return errors.Wrapf(put(ctx, c, binding, &admissionv1.MutatingAdmissionPolicyBinding{}),
		"cannot put policy %s into force", policy.GetName())
}

func installCRD(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	if err := put(ctx, c, crd, &apiextensionsv1.CustomResourceDefinition{}); err != nil {
		return err
	}

	return wait.PollUntilContextTimeout(ctx, establishedEvery, installed, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return false, err
		}

		return slices.ContainsFunc(crd.Status.Conditions, func(cond apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return cond.Type == apiextensionsv1.Established && cond.Status == apiextensionsv1.ConditionTrue
		}), nil
	})
}

// put creates an object or, if it exists, replaces it. It retries after a conflict.
func put[T client.Object](ctx context.Context, c client.Client, obj, found T) error {
	for {
		err := c.Create(ctx, obj)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}

		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), found); err != nil {
			return err
		}

		obj.SetResourceVersion(found.GetResourceVersion())

		if err := c.Update(ctx, obj); !apierrors.IsConflict(err) {
			return err
		}

		obj.SetResourceVersion("")
	}
}
