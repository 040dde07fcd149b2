package translate

import (
	"context"
	"os"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// The timeout and the poll interval for a new kind to be served. An API server needs less
// than a second.
const (
	servedTimeout = 2 * time.Minute
	servedPoll    = 100 * time.Millisecond
)

// ErrKindNotServed is returned, wrapped, if an API server does not serve a required kind, or if
// discovery does not list the kind for this user.
var ErrKindNotServed = errors.New("kind is not served")

// EnsureCRDFromPhysicalCluster copies the CRD of a kind from the host to the virtual cluster, and waits until the
// virtual cluster serves the kind. If the virtual cluster serves the kind already, nothing is changed. The error wraps
// ErrKindNotServed if the host does not serve the kind.
//
// The copy differs from the CRD of the host. The copy has no conversion webhook, because the webhook is a service of
// the host. If the CRD of the host has a conversion webhook, the copy contains only the requested version. The only
// annotation that is copied is the approval of protected API groups. The copy never preserves unknown fields.
func EnsureCRDFromPhysicalCluster(
	ctx context.Context, pConfig, vConfig *rest.Config, groupVersionKind schema.GroupVersionKind,
) error {
	served, err := KindExists(vConfig, groupVersionKind)
	if err != nil {
		return errors.Wrap(err, "cannot discover the kind in the virtual cluster")
	}
	if served {
		return awaitDiscovery(ctx, vConfig, groupVersionKind)
	}
	gvr, err := ConvertKindToResource(pConfig, groupVersionKind)
	if err != nil {
		return errors.Wrap(err, "cannot discover the kind in the physical cluster")
	}
	host, err := crdClient(pConfig)
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := host.Get(ctx, client.ObjectKey{Name: gvr.GroupResource().String()}, crd); err != nil {
		return errors.Wrapf(err, "cannot read the definition of %s in the physical cluster", groupVersionKind.Kind)
	}
	return install(ctx, vConfig, portable(crd, groupVersionKind.Version), groupVersionKind)
}

// EnsureCRDFromFile creates the CRD that is in a YAML or JSON file, and waits until the kind is
// served. If the kind is served already, it changes nothing and does not read the file.
func EnsureCRDFromFile(
	ctx context.Context, config *rest.Config, crdFilePath string, groupVersionKind schema.GroupVersionKind,
) error {
	served, err := KindExists(config, groupVersionKind)
	if err != nil {
		return errors.Wrap(err, "cannot discover the kind in the cluster")
	}
	if served {
		return awaitDiscovery(ctx, config, groupVersionKind)
	}
	text, err := os.ReadFile(crdFilePath)
	if err != nil {
		return errors.Wrap(err, "cannot read the definition")
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return errors.Wrapf(err, "cannot parse the definition in %s", crdFilePath)
	}
	return install(ctx, config, crd, groupVersionKind)
}

// ConvertKindToResource returns the resource of a kind on an API server. The error wraps
// ErrKindNotServed if the API server does not serve the kind.
func ConvertKindToResource(
	config *rest.Config, groupVersionKind schema.GroupVersionKind,
) (schema.GroupVersionResource, error) {
	gv := groupVersionKind.GroupVersion()
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return schema.GroupVersionResource{}, errors.Wrap(err, "cannot create a discovery client")
	}
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	if err != nil && !gone.Unserved(err) && !gone.Named(err) {
		return schema.GroupVersionResource{}, err
	}
	if list != nil {
		isKind := func(r metav1.APIResource) bool { return r.Kind == groupVersionKind.Kind && !isSubresource(r.Name) }
		if i := slices.IndexFunc(list.APIResources, isKind); i >= 0 {
			return gv.WithResource(list.APIResources[i].Name), nil
		}
	}
	return schema.GroupVersionResource{}, errors.Wrap(ErrKindNotServed, groupVersionKind.String())
}

// KindExists reports whether an API server serves a kind.
func KindExists(config *rest.Config, groupVersionKind schema.GroupVersionKind) (bool, error) {
	_, err := ConvertKindToResource(config, groupVersionKind)
	if errors.Is(err, ErrKindNotServed) {
		return false, nil
	}
	return err == nil, err
}

// isSubresource reports whether the name of a resource is the name of a subresource.
func isSubresource(name string) bool { return slices.Contains([]byte(name), '/') }

// portable returns a copy of a CRD without the parts that depend on its cluster.
func portable(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels},
		Spec:       *crd.Spec.DeepCopy(),
	}
	// CRDs of protected API groups need the approval annotation.
	if approved, there := crd.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]; there {
		out.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: approved}
	}
	// Old CRDs may preserve unknown fields; API servers reject that in new ones.
	out.Spec.PreserveUnknownFields = false
	if c := out.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		out.Spec.Conversion = nil
		other := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name != version }
		out.Spec.Versions = slices.DeleteFunc(out.Spec.Versions, other)
	}
	// Exactly one version must be stored: the requested one.
	for i := range out.Spec.Versions {
		v := &out.Spec.Versions[i]
		v.Storage = v.Name == version
	}
	return out
}

// install creates a CRD and waits until its kind is served.
func install(
	ctx context.Context, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, gvk schema.GroupVersionKind,
) error {
	c, err := crdClient(config)
	if err != nil {
		return err
	}
	// Another syncer may install the same kind at the same time.
	if err := c.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
		return errors.Wrapf(err, "cannot create the definition of %s", gvk.Kind)
	}
	err = wait.PollUntilContextTimeout(ctx, servedPoll, servedTimeout, true, func(ctx context.Context) (bool, error) {
		got := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), got); err != nil {
			return false, gone.Ignore(err, crd.GetName())
		}
		return isEstablished(got), nil
	})
	if err != nil {
		return errors.Wrapf(err, "%s is not served yet", gvk.Kind)
	}
	return awaitDiscovery(ctx, config, gvk)
}

// awaitDiscovery waits until a client discovers the kind. API servers update the list of groups in
// the background, so discovery finds a kind a moment after the kind is served.
func awaitDiscovery(ctx context.Context, config *rest.Config, gvk schema.GroupVersionKind) error {
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return errors.Wrap(err, "cannot create an HTTP client")
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, c)
	if err != nil {
		return errors.Wrap(err, "cannot create a REST mapper")
	}
	err = wait.PollUntilContextTimeout(ctx, servedPoll, servedTimeout, true, func(context.Context) (bool, error) {
		_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if gone.Unserved(err) {
			return false, nil
		}
		return err == nil, err
	})
	return errors.Wrapf(err, "cannot discover %s", gvk.Kind)
}

// isEstablished reports whether the condition Established of a CRD is true.
func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// crdClient returns a client for CRDs.
func crdClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, errors.Wrap(err, "cannot register the kind CustomResourceDefinition")
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return c, errors.Wrap(err, "cannot create a client")
}
