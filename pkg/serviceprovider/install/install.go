// Package install prepares clusters before a service provider starts. Use it in an init command. Start with CRDs.
//
// The role needs these permissions. On each cluster: get, patch and create for customresourcedefinitions. On the
// platform cluster, for RegisterKinds: patch for serviceproviders/status of the group openmcp.cloud.
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

// ClusterLabel is the label of a CRD whose value names the cluster on which to install the CRD. The platform defines
// this label.
const ClusterLabel = "openmcp.cloud/cluster"

// Values of ClusterLabel: the clusters on which a CRD can be installed.
const (
	Platform   = "platform"
	Onboarding = "onboarding"
)

const fieldOwner = client.FieldOwner("moorage-service-provider-install")

// CRDs applies CRDs from YAML files, and waits until all of them are established. Each file contains one CRD, whose
// ClusterLabel names its cluster. If a file contains no CRD, or a CRD for an unknown cluster, CRDs returns an error and
// applies nothing.
//
// The function CRDs waits until the context ends, and at most for EstablishTimeout, which is a minute. Then it returns
// an ErrNotEstablished, which names the CustomResourceDefinitions that are not established. If the names of a CRD were
// not accepted, the error contains the reason.
func CRDs(ctx context.Context, files fs.FS, clusters map[string]client.Client) error {
	all, err := read(files, clusters)
	if err != nil {
		return err
	}
	for _, t := range all {
		// The response is decoded into the applied object.
		if err := t.Apply(
			ctx, client.ApplyConfigurationFromUnstructured(t.crd.DeepCopy()), fieldOwner,
			client.ForceOwnership); err != nil {
			return errors.Wrapf(err, "cannot apply %s", t.crd.GetName())
		}
	}

	return established(ctx, all)
}

// target is a CRD and its cluster.
type target struct {
	client.Client

	crd *unstructured.Unstructured
}

// read returns the CRDs in the files.
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
		if crd.GroupVersionKind().GroupKind() != (schema.GroupKind{
			Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
		}) {
			return errors.Errorf("%s is no CustomResourceDefinition", path)
		}
		of := crd.GetLabels()[ClusterLabel]
		c := clusters[of]
		if c == nil {
			return errors.Errorf("%s is for the cluster %q, by its label %s, which is not known", path, of,
				ClusterLabel)
		}
		all = append(all, target{c, crd})

		return nil
	})

	return all, err
}

// RegisterKinds writes the kinds that a provider serves to the status of its ServiceProvider. It replaces the kinds
// that were written before.
func RegisterKinds(
	ctx context.Context, platform client.Client, provider string, kinds ...metav1.GroupVersionKind,
) error {
	body, err := json.Marshal(map[string]any{"status": map[string]any{"resources": kinds}})
	if err != nil {
		return errors.Wrap(err, "cannot tell the kinds")
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "openmcp.cloud", Version: "v1alpha1", Kind: "ServiceProvider"})
	o.SetName(provider)

	return errors.Wrapf(
		platform.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, body)),
		"cannot register the kinds of ServiceProvider %s", provider)
}
