package xp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/xp"
)

// TestWhatSecretsHold compares the keys and the type of connection Secrets with those that
// crossplane-runtime has: programs that read the Secrets know no others.
func TestWhatSecretsHold(t *testing.T) {
	want := []string{
		"endpoint", "port", "username", "password", "clusterCA", "clientCert", "clientKey", "token", "kubeconfig",
		"connection.crossplane.io/v1alpha1",
	}
	got := []string{
		xp.ResourceCredentialsSecretEndpointKey, xp.ResourceCredentialsSecretPortKey,
		xp.ResourceCredentialsSecretUserKey,
		xp.ResourceCredentialsSecretPasswordKey, xp.ResourceCredentialsSecretCAKey,
		xp.ResourceCredentialsSecretClientCertKey,
		xp.ResourceCredentialsSecretClientKeyKey, xp.ResourceCredentialsSecretTokenKey,
		xp.ResourceCredentialsSecretKubeconfigKey,
		string(xp.SecretType),
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-theirs, +ours:\n%s", diff)
	}
}
