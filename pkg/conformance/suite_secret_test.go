package conformance

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// publishing is a client that returns connection details.
func publishing(d *diskService) *wreck {
	return &wreck{diskClient: &diskClient{d}, observe: func(ctx context.Context, p *diskClient,
		v *volume.Volume) (managed.ExternalObservation, error) {
		o, err := p.Observe(ctx, v)
		if o.ResourceExists {
			o.ConnectionDetails = managed.ConnectionDetails{"id": []byte(v.Status.ID), "password": []byte("secret of " + v.Name)}
		}

		return o, err
	}}
}

// publishingSuite returns a suite whose samples ask for a connection Secret.
func publishingSuite(t *testing.T, class Class) Suite {
	t.Helper()
	d := newDiskService(class)
	d.stamped = true
	s := d.suite(publishing(d))
	nameSecrets(t, &s)

	return s
}

// nameSecrets lets the samples of a suite ask for connection Secrets.
func nameSecrets(t *testing.T, s *Suite) {
	t.Helper()
	if err := corev1.AddToScheme(s.Scheme); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"vol", "vol-2"} {
		v := sample(name)
		v.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: name + "-connection"}
		s.Samples[i] = resource.Managed(v)
	}
}

// TestConnectionSecret: a kind that publishes connection details passes. An object that is created again under its name
// gets a Secret of its own, because the garbage collector removes the Secret of its predecessor.
func TestConnectionSecret(t *testing.T) {
	for _, class := range []Class{Named, Token} {
		t.Run(string(class), func(t *testing.T) {
			s := publishingSuite(t, class)
			s.Within = map[Class]time.Duration{Named: within, Token: time.Nanosecond}[class]
			k := examine(t, s)
			for _, f := range k.findings.list {
				t.Error(f)
			}
		})
	}
}

// TestSecretsOfResources: a password of the resource belongs in its connection details, and in no error. A password of
// the provider does not belong in connection details.
func TestSecretsOfResources(t *testing.T) {
	const password = "secret of vol"
	s := publishingSuite(t, Named)
	s.Within, s.ResourceSecrets = time.Nanosecond, []string{password}
	if k := examine(t, s); len(k.findings.list) > 0 {
		t.Errorf("a correct client: %v", k.findings.list)
	}
	s.Connecter.(*wreck).update = func(context.Context, *diskClient, *volume.Volume) error {
		return errors.New("refused with " + password)
	}
	if k := examine(t, s); !k.findings.says("secrets-are-kept", "the error of Update of vol shows one") {
		t.Errorf("an error with the password: %v", k.findings.list)
	}
	s = publishingSuite(t, Named)
	s.Within, s.Secrets = time.Nanosecond, []string{password}
	if k := examine(t, s); !k.findings.says("secrets-are-kept", "move it from Suite.Secrets to Suite.ResourceSecrets") {
		t.Errorf("a password of the provider: %v", k.findings.list)
	}
}
