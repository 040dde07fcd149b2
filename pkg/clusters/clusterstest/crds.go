package clusterstest

import (
	"context"
	"io/fs"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	poll "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// InstallCRDs creates the CRDs from YAML files, one per file. InstallCRDs waits until the CRDs are established and the
// client finds their kinds. The client may find the kinds a moment after the CRDs are established. InstallCRDs does not
// change a CRD that exists already. The scheme of the client must contain CustomResourceDefinition.
func InstallCRDs(ctx context.Context, c client.Client, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return errors.Wrap(err, "cannot read a definition")
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			return errors.Wrapf(err, "cannot parse %s", path)
		}
		if err := c.Create(ctx, crd); err != nil && !kerrors.IsAlreadyExists(err) {
			return errors.Wrapf(err, "cannot create %s", crd.Name)
		}
		err = poll.PollUntilContextTimeout(ctx, 50*time.Millisecond, wait.Patience(), true, func(
			ctx context.Context,
		) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd)

			return err == nil && established(crd) && found(c, crd), err
		})

		return errors.Wrapf(err, "%s is not established, or not found", crd.Name)
	})
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return true
		}
	}

	return false
}

// found reports whether clients discover the kind in all versions that are served.
func found(c client.Client, crd *apiextensionsv1.CustomResourceDefinition) bool {
	kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		if _, err := c.RESTMapper().RESTMapping(kind, v.Name); err != nil {
			return false
		}
	}

	return true
}
