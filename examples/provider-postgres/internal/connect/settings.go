package connect

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
)

// Names in a configuration: its kind for all namespaces, and the keys of its Secret.
const (
	clusterKind = "ClusterProviderConfig"

	keyUser     = "username"
	keyPassword = "password"
)

// configuration returns the configuration of the object. The two are often created together, and the cache may not
// have the configuration yet. If it is missing there, it is read once more, from the API server.
func (c *Connections) configuration(ctx context.Context, mg resource.Managed) (providerconfig.Config, error) {
	config, err := providerconfig.Get(ctx, c.kube, mg, kinds())
	if !providerconfig.IsMissing(err) {
		return config, err
	}
	config, err = providerconfig.Get(ctx, fresh{c.kube, c.live}, mg, kinds())
	if providerconfig.IsMissing(err) {
		return nil, errors.Wrap(err, "create the configuration, or name another in spec.providerConfigRef")
	}

	return config, err
}

// Grants returns the Grants in the cache that use the same configuration as mg, with mg.
func (c *Connections) Grants(ctx context.Context, mg *v1alpha1.Grant) ([]v1alpha1.Grant, error) {
	all := &v1alpha1.GrantList{}
	if err := c.kube.List(ctx, all); err != nil {
		return nil, errors.Wrap(err, "cannot list the Grants")
	}
	with := configurationOf(mg)

	return slices.DeleteFunc(all.Items, func(g v1alpha1.Grant) bool { return configurationOf(&g) != with }), nil
}

// configurationOf returns the kind, the namespace and the name of the configuration that an object uses.
func configurationOf(mg *v1alpha1.Grant) [3]string {
	ref := mg.GetProviderConfigReference()
	if ref.Kind == clusterKind {
		return [3]string{ref.Kind, "", ref.Name}
	}

	return [3]string{ref.Kind, mg.GetNamespace(), ref.Name}
}

// fresh reads objects from the API server instead of the cache.
type fresh struct {
	providerconfig.Reader
	live ctrlclient.Reader
}

// Get reads an object from the API server.
func (f fresh) Get(
	ctx context.Context, key ctrlclient.ObjectKey, obj ctrlclient.Object, o ...ctrlclient.GetOption,
) error {
	return f.live.Get(ctx, key, obj, o...)
}

// settings returns the settings of a configuration of either kind. The Secret of a ProviderConfig is always in its own
// namespace, so that users cannot use Secrets of other namespaces.
func settings(config providerconfig.Config) v1alpha1.ClusterProviderConfigSpec {
	switch c := config.(type) {
	case *v1alpha1.ProviderConfig:
		return v1alpha1.ClusterProviderConfigSpec{
			Endpoint: c.Spec.Endpoint,
			CredentialsSecretRef: v1alpha1.NamespacedSecretReference{
				SecretReference: c.Spec.CredentialsSecretRef, Namespace: c.GetNamespace(),
			},
		}
	case *v1alpha1.ClusterProviderConfig:
		return c.Spec
	default:
		return v1alpha1.ClusterProviderConfigSpec{}
	}
}

// name returns the name by which the condition Connected of a configuration is found.
func name(config providerconfig.Config) string {
	if config.GetNamespace() == "" {
		return clusterKind + "/" + config.GetName()
	}

	return strings.Join([]string{"ProviderConfig", config.GetNamespace(), config.GetName()}, "/")
}

// credentials reads a user name and a password, without line breaks at their ends, and the revision of their
// Secret. The error is connection.Missing if the Secret does not exist, and connection.Unsure if that is not known:
// the error page of a proxy is no response of the API server.
func (c *Connections) credentials(
	ctx context.Context, ref v1alpha1.NamespacedSecretReference,
) (user, password, revision string, err error) {
	secret := &corev1.Secret{}
	key := ctrlclient.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	err = credentials.ReadError(c.live.Get(ctx, key, secret), ref.Name)
	switch {
	case connection.IsMissing(err):
		return "", "", "", errors.Wrapf(err, "the Secret %q of spec.credentialsSecretRef does not exist: create it in the "+
			"namespace %q", ref.Name, ref.Namespace)
	case apierrors.IsForbidden(err):
		return "", "", "", errors.Wrapf(err, "the provider is not permitted to read the Secret %q: permit its role to get "+
			"secrets", ref.Name)
	case err != nil:
		return "", "", "", errors.Wrapf(err, "cannot read the Secret %q", ref.Name)
	}
	for key, into := range map[string]*string{keyUser: &user, keyPassword: &password} {
		*into = strings.TrimRight(string(secret.Data[key]), "\r\n")
		if *into == "" {
			return "", "", "", errors.Errorf("the Secret %q of spec.credentialsSecretRef has no value for the key %q: add it",
				ref.Name, key)
		}
	}

	return user, password, string(secret.UID) + "@" + secret.ResourceVersion, nil
}
