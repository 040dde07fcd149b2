// Package install brings what a service provider needs to the clusters before it starts: it is
// for an init command. Begin with CRDs.
//
// The role needs, on each cluster, to get, patch and create customresourcedefinitions, and on the
// platform, for RegisterKinds, to patch serviceproviders/status of the group openmcp.cloud.
package install

import (
	"context"
	"encoding/json"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// ClusterLabel is on a definition, and says for which cluster it is. The name is the platform's.
const ClusterLabel = "openmcp.cloud/cluster"

// Clusters that a definition may be for, as the values of ClusterLabel.
const (
	Platform   = "platform"
	Onboarding = "onboarding"
)

const fieldOwner = client.FieldOwner("moorage-service-provider-install")

// CRDs applies the definitions that are in the YAML files, one in each, to the clusters that
// their ClusterLabel names, and returns when all of them are served: when they are Established.
// It waits for that until the context ends, and for a minute at most (EstablishTimeout): the
// error, an ErrNotEstablished, names the definitions that are not, and says why if their names
// were not accepted. It returns an error, and applies nothing, if a file is no definition, or is
// for a cluster that is not given.
func CRDs(ctx context.Context, files fs.FS, clusters map[string]client.Client) error {
	all, err := read(files, clusters)
	if err != nil {
		return err
	}
	for _, t := range all {
		// The answer is decoded into what is applied.
		if err := t.Apply(ctx, client.ApplyConfigurationFromUnstructured(t.crd.DeepCopy()), fieldOwner, client.ForceOwnership); err != nil {
			return errors.Wrapf(err, "cannot apply %s", t.crd.GetName())
		}
	}

	return established(ctx, all)
}

// A target is a definition, and the cluster that it is for.
type target struct {
	client.Client

	crd *unstructured.Unstructured
}

// read returns the definitions of the files.
func read(files fs.FS, clusters map[string]client.Client) (all []target, err error) {
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return errors.Wrap(err, "cannot read a definition")
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			return errors.Wrapf(err, "cannot parse %s", path)
		}
		if crd.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			return errors.Errorf("%s is no CustomResourceDefinition", path)
		}
		of := crd.GetLabels()[ClusterLabel]
		c := clusters[of]
		if c == nil {
			return errors.Errorf("%s is for the cluster %q, by its label %s, which is not known", path, of, ClusterLabel)
		}
		all = append(all, target{c, crd})

		return nil
	})

	return all, err
}

// RegisterKinds tells the platform which kinds a provider serves, in the status of its
// ServiceProvider: no others from then on.
func RegisterKinds(ctx context.Context, platform client.Client, provider string, kinds ...metav1.GroupVersionKind) error {
	body, err := json.Marshal(map[string]any{"status": map[string]any{"resources": kinds}})
	if err != nil {
		return errors.Wrap(err, "cannot tell the kinds")
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "openmcp.cloud", Version: "v1alpha1", Kind: "ServiceProvider"})
	o.SetName(provider)

	return errors.Wrapf(platform.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, body)), "cannot register the kinds of ServiceProvider %s", provider)
}
