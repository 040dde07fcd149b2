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

// How long a new kind may take until it is served, and how often it is looked for.
// An API server needs less than a second.
const (
	servedTimeout = 2 * time.Minute
	servedPoll    = 100 * time.Millisecond
)

// ErrKindNotServed is returned, wrapped, if an API server does not serve a kind
// that is needed, or does not show it to this user.
var ErrKindNotServed = errors.New("kind is not served")

// EnsureCRDFromPhysicalCluster copies the definition of a kind from the host to the
// virtual cluster and returns when it is served there. If it is served already,
// nothing is changed. A conversion webhook is left out, because it is a service of
// the host; the copy has one version then, the one asked for. Of the annotations the
// approval of the API is copied, which groups of Kubernetes need; fields that the
// schema does not know are never preserved. It returns ErrKindNotServed if the host
// does not serve the kind.
func EnsureCRDFromPhysicalCluster(ctx context.Context, pConfig, vConfig *rest.Config, groupVersionKind schema.GroupVersionKind) error {
	served, err := KindExists(vConfig, groupVersionKind)
	if err != nil {
		return errors.Wrap(err, "cannot ask the virtual cluster for its kinds")
	}
	if served {
		return discovered(ctx, vConfig, groupVersionKind)
	}
	gvr, err := ConvertKindToResource(pConfig, groupVersionKind)
	if err != nil {
		return errors.Wrap(err, "cannot ask the physical cluster for its kinds")
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

// EnsureCRDFromFile creates the definition in a YAML or JSON file and returns when
// the kind is served. If it is served already, nothing is changed and the file is
// not read.
func EnsureCRDFromFile(ctx context.Context, config *rest.Config, crdFilePath string, groupVersionKind schema.GroupVersionKind) error {
	served, err := KindExists(config, groupVersionKind)
	if err != nil {
		return errors.Wrap(err, "cannot ask the cluster for its kinds")
	}
	if served {
		return discovered(ctx, config, groupVersionKind)
	}
	text, err := os.ReadFile(crdFilePath)
	if err != nil {
		return errors.Wrap(err, "cannot read the definition")
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return errors.Wrapf(err, "cannot understand the definition in %s", crdFilePath)
	}
	return install(ctx, config, crd, groupVersionKind)
}

// ConvertKindToResource returns the resource under which an API server serves a
// kind, or ErrKindNotServed.
func ConvertKindToResource(config *rest.Config, groupVersionKind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	gv := groupVersionKind.GroupVersion()
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return schema.GroupVersionResource{}, errors.Wrap(err, "cannot make a discovery client")
	}
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	if err != nil && !gone.Unserved(err) && !gone.Named(err) {
		return schema.GroupVersionResource{}, err
	}
	if list != nil {
		isKind := func(r metav1.APIResource) bool { return r.Kind == groupVersionKind.Kind && !subresource(r.Name) }
		if i := slices.IndexFunc(list.APIResources, isKind); i >= 0 {
			return gv.WithResource(list.APIResources[i].Name), nil
		}
	}
	return schema.GroupVersionResource{}, errors.Wrap(ErrKindNotServed, groupVersionKind.String())
}

// KindExists tells whether an API server serves a kind.
func KindExists(config *rest.Config, groupVersionKind schema.GroupVersionKind) (bool, error) {
	_, err := ConvertKindToResource(config, groupVersionKind)
	if errors.Is(err, ErrKindNotServed) {
		return false, nil
	}
	return err == nil, err
}

func subresource(name string) bool { return slices.Contains([]byte(name), '/') }

// portable returns what of a definition means the same in another cluster.
func portable(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels},
		Spec:       *crd.Spec.DeepCopy(),
	}
	// Without it nobody may define a kind of a group of Kubernetes.
	if approved, there := crd.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]; there {
		out.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: approved}
	}
	// What was defined long ago may have it, what is defined now may not.
	out.Spec.PreserveUnknownFields = false
	if c := out.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		out.Spec.Conversion = nil
		out.Spec.Versions = slices.DeleteFunc(out.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name != version
		})
	}
	// Of several versions exactly one is stored; of those that are left, the one
	// that is asked for.
	for i := range out.Spec.Versions {
		v := &out.Spec.Versions[i]
		v.Storage = v.Name == version
	}
	return out
}

func install(ctx context.Context, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, gvk schema.GroupVersionKind) error {
	c, err := crdClient(config)
	if err != nil {
		return err
	}
	// Two syncers may ensure the same kind.
	if err := c.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
		return errors.Wrapf(err, "cannot create the definition of %s", gvk.Kind)
	}
	err = wait.PollUntilContextTimeout(ctx, servedPoll, servedTimeout, true, func(ctx context.Context) (bool, error) {
		got := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), got); err != nil {
			return false, gone.Ignore(err, crd.GetName())
		}
		return established(got), nil
	})
	if err != nil {
		return errors.Wrapf(err, "cannot see %s served", gvk.Kind)
	}
	return discovered(ctx, config, gvk)
}

// discovered waits until a client would find the kind. That comes a moment after it is
// served: the list of all groups is made anew in the background.
func discovered(ctx context.Context, config *rest.Config, gvk schema.GroupVersionKind) error {
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return errors.Wrap(err, "cannot make a client")
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, c)
	if err != nil {
		return errors.Wrap(err, "cannot make a client for discovery")
	}
	err = wait.PollUntilContextTimeout(ctx, servedPoll, servedTimeout, true, func(context.Context) (bool, error) {
		_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if gone.Unserved(err) {
			return false, nil
		}
		return err == nil, err
	})
	return errors.Wrapf(err, "cannot see %s served", gvk.Kind)
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

func crdClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, errors.Wrap(err, "cannot add the kind of definitions")
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return c, errors.Wrap(err, "cannot make a client")
}
