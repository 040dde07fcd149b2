// Package manifests holds what a cluster needs to run the provider: the CRDs and the role. Both are
// generated from the Go sources by "make generate". The policy by which objects are created with a
// finalizer is optional.
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

// CRDs returns the CRDs of all kinds of this provider.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	paths, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list the CRDs")
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

// Role returns the role with the permissions of the provider.
func Role() (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}

	return role, read("rbac/role.yaml", role)
}

// Unclaimed returns the policy by which the API server gives objects of this provider a finalizer when they
// are created, and its binding. See UnclaimedFinalizer in package managed.
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

	return errors.Wrapf(yaml.UnmarshalStrict(image, into), "cannot parse %s", path)
}
