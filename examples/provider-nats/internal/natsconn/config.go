package natsconn

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

// A Config is how to connect, of either kind of configuration. The zero value connects nowhere.
type Config struct {
	servers []string
	domain  string
	prefix  string
	login   login
	tls     *security
}

// A login is the credentials to log in with.
type login struct {
	source, kind string
	secret       *secretKey
}

// A security is how the connection is encrypted and verified.
type security struct {
	ca, cert *secretKey
	insecure bool
}

// A secretKey is a key of a Secret. Empty means the default key of the field.
type secretKey struct {
	types.NamespacedName
	key string
}

// FromProviderConfig returns the Config of a ProviderConfig. Its Secrets are in its own namespace.
func FromProviderConfig(pc *v1alpha1.ProviderConfig) Config {
	in := func(name, key string) *secretKey {
		return &secretKey{types.NamespacedName{Namespace: pc.GetNamespace(), Name: name}, key}
	}

	spec := &pc.Spec
	out := Config{
		servers: spec.Servers, domain: spec.Domain, prefix: spec.JSPrefix,
		login: login{source: spec.Credentials.Source, kind: spec.Credentials.Type},
	}

	if ref := spec.Credentials.SecretRef; ref != nil {
		out.login.secret = in(ref.Name, ref.Key)
	}

	if t := spec.TLS; t != nil {
		out.tls = &security{insecure: t.InsecureSkipVerify}

		if ref := t.CASecretRef; ref != nil {
			out.tls.ca = in(ref.Name, ref.Key)
		}

		if ref := t.CertSecretRef; ref != nil {
			out.tls.cert = in(ref.Name, "")
		}
	}

	return out
}

// FromClusterProviderConfig returns the Config of a ClusterProviderConfig, which names the namespaces of
// its Secrets.
func FromClusterProviderConfig(pc *v1alpha1.ClusterProviderConfig) Config {
	in := func(ref v1alpha1.NamespacedSecretReference, key string) *secretKey {
		return &secretKey{types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, key}
	}

	spec := &pc.Spec
	out := Config{
		servers: spec.Servers, domain: spec.Domain, prefix: spec.JSPrefix,
		login: login{source: spec.Credentials.Source, kind: spec.Credentials.Type},
	}

	if ref := spec.Credentials.SecretRef; ref != nil {
		out.login.secret = in(ref.NamespacedSecretReference, ref.Key)
	}

	if t := spec.TLS; t != nil {
		out.tls = &security{insecure: t.InsecureSkipVerify}

		if ref := t.CASecretRef; ref != nil {
			out.tls.ca = in(ref.NamespacedSecretReference, ref.Key)
		}

		if ref := t.CertSecretRef; ref != nil {
			out.tls.cert = in(*ref, "")
		}
	}

	return out
}

// WithCredentials returns the Config with another Secret to log in with. The type of the credentials, and the
// key in the Secret, stay.
func (c Config) WithCredentials(secret types.NamespacedName) Config {
	key := ""
	if c.login.secret != nil {
		key = c.login.secret.key
	}

	c.login.source, c.login.secret = v1alpha1.CredentialsSecret, &secretKey{secret, key}

	return c
}
