// Package manifests holds what a cluster needs before the provider can run in
// it: the definitions of its kinds and the role it works under. Both are
// generated from the Go sources; "make generate" of the repository does it. What
// it need not have is the policy by which objects are born with a finalizer.
package manifests

import (
	"embed"
	"io/fs"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/pkg/errors"
)

//go:embed crds/*.yaml rbac/role.yaml admission/*.yaml
var files embed.FS

// CRDs returns the definitions of all kinds of this provider.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	paths, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list the definitions")
	}

	out := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(paths))

	for _, path := range paths {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := read(path, crd); err != nil {
			return nil, err
		}

		out = append(out, crd)
	}

	return out, nil
}

// Role returns the role with all that the provider may do, and no more.
func Role() (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}

	return role, read("rbac/role.yaml", role)
}

// Unclaimed returns the policy by which the API server gives objects of this
// provider a finalizer when they are created, and what puts it into force. See
// UnclaimedFinalizer in package managed.
func Unclaimed() (*admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding, error) {
	policy, binding := &admissionv1.MutatingAdmissionPolicy{}, &admissionv1.MutatingAdmissionPolicyBinding{}
	if err := read("admission/policy.yaml", policy); err != nil {
		return nil, nil, err
	}

	return policy, binding, read("admission/binding.yaml", binding)
}

func read(path string, into any) error {
	image, err := files.ReadFile(path)
	if err != nil {
		return errors.Wrapf(err, "cannot read %s", path)
	}

	return errors.Wrapf(yaml.UnmarshalStrict(image, into), "cannot understand %s", path)
}
