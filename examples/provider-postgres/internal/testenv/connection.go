package testenv

import (
	"flag"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/connect"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
)

// SecretName is the name of the Secret of the configuration "default".
const SecretName = "postgres"

// connection creates a configuration for the objects of the namespace, with the server at this port, and returns the
// options to use it.
func connection(t *testing.T, kube ctrlclient.Client, namespace, ca string, port uint16) connect.Options {
	t.Helper()
	must(t, kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: SecretName},
		StringData: map[string]string{"username": pgserver.Provider, "password": pgserver.Password},
	}))
	must(t, kube.Create(t.Context(), &v1alpha1.ProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"},
		Spec: v1alpha1.ProviderConfigSpec{
			Endpoint: v1alpha1.Endpoint{
				Host: pgserver.Host, Port: int32(port), TLS: v1alpha1.TLS{Mode: v1alpha1.TLSVerify, CABundle: ca},
			},
			CredentialsSecretRef: v1alpha1.SecretReference{Name: SecretName},
		},
	}))

	// The flag allows no other host.
	var o connect.Options
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o.AddFlags(flags)
	must(t, flags.Parse([]string{"--allow-hosts", fmt.Sprintf("db.example.org,%s:%d", pgserver.Host, port)}))

	return o
}
