package natsconn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
)

// TestWhichSecrets: a ProviderConfig has Secrets in its own namespace, and a ClusterProviderConfig those
// that it names, each with its namespace.
func TestWhichSecrets(t *testing.T) {
	const clusterwide = "vault"

	in := func(name string) v1alpha1.NamespacedSecretReference {
		return v1alpha1.NamespacedSecretReference{Namespace: clusterwide, Name: name}
	}

	cases := map[string]struct {
		reason string
		config natsconn.Config
		want   []string
	}{
		"Namespaced": {
			"its own namespace",
			natsconn.FromProviderConfig(&v1alpha1.ProviderConfig{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns"},
				Spec: v1alpha1.ProviderConfigSpec{
					Credentials: login(v1alpha1.CredentialsTypeToken),
					TLS:         &v1alpha1.TLS{CASecretRef: &v1alpha1.SecretKeyReference{Name: "ca"}},
				},
			}),
			[]string{"ns/login", "ns/ca"},
		},
		"Cluster": {
			"where it says",
			natsconn.FromClusterProviderConfig(&v1alpha1.ClusterProviderConfig{Spec: v1alpha1.ClusterProviderConfigSpec{
				Credentials: v1alpha1.ClusterCredentials{
					Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken,
					SecretRef: &v1alpha1.NamespacedSecretKeyReference{NamespacedSecretReference: in("login"), Key: "token"},
				},
				TLS: &v1alpha1.ClusterTLS{CASecretRef: &v1alpha1.NamespacedSecretKeyReference{NamespacedSecretReference: in("ca")}},
			}}),
			[]string{"vault/login", "vault/ca"},
		},
		"None": {"nothing to read", natsconn.FromClusterProviderConfig(&v1alpha1.ClusterProviderConfig{}), nil},
	}

	secrets := store{"login": {"token": []byte("t")}, "ca": {"ca.crt": natstest.NewCA(t).PEM}}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var read []string

			_, err := natsconn.Resolve(t.Context(), tc.config,
				func(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
					read = append(read, key.String())

					return secrets.read(ctx, key)
				})
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, read); diff != "" {
				t.Errorf("\n%s\nSecrets: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMissingClusterSecret: the error names the namespace of the Secret.
func TestMissingClusterSecret(t *testing.T) {
	cfg := natsconn.FromClusterProviderConfig(&v1alpha1.ClusterProviderConfig{Spec: v1alpha1.ClusterProviderConfigSpec{
		TLS: &v1alpha1.ClusterTLS{CertSecretRef: &v1alpha1.NamespacedSecretReference{Namespace: "vault", Name: "client"}},
	}})

	_, err := natsconn.Resolve(t.Context(), cfg,
		func(_ context.Context, key types.NamespacedName) (*corev1.Secret, error) {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
		})

	const want = `the Secret "client", which spec.tls.certSecretRef names, does not exist: ` +
		`create it in the namespace "vault"`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Resolve(...): want an error with %q, got: %v", want, err)
	}
}
