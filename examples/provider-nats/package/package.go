// Package manifests holds what a cluster needs before the provider can run in
// it: the definitions of its kinds and the role it works under. Both are
// generated from the Go sources; "make generate" of the repository does it.
package manifests

import (
	"embed"
	"io/fs"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/pkg/errors"
)

//go:embed crds/*.yaml rbac/role.yaml
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

func read(path string, into any) error {
	image, err := files.ReadFile(path)
	if err != nil {
		return errors.Wrapf(err, "cannot read %s", path)
	}

	return errors.Wrapf(yaml.UnmarshalStrict(image, into), "cannot understand %s", path)
}
