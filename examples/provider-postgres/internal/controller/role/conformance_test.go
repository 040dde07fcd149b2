package role_test

import (
	"context"
	"flag"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller/role"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
)

var within = flag.Duration("within", 0, "how long schedules with faults are started; 0 is the default of the suite")

// A readingLinker is a Linker that reads the Secrets of the suite.
type readingLinker struct {
	pgtest.Linker
	secrets client.Reader
}

// Secret returns the Secret that an object names, or nil.
func (l readingLinker) Secret(ctx context.Context, mg resource.Managed, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := l.secrets.Get(ctx, client.ObjectKey{Namespace: mg.GetNamespace(), Name: name}, secret)
	if resource.IsNotFound(err) {
		return nil, nil
	}

	return secret, errors.Wrap(err, "cannot read the Secret")
}

// TestConformance runs the client on a real server with the failures of a real cluster. The user of the provider has
// CREATEDB and CREATEROLE, and no more.
func TestConformance(t *testing.T) {
	server, ok := pgtest.Start(t)
	if !ok {
		return
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	proxy := pgtest.NewProxy(t, server)
	link := pgtest.NewLinker(t, pgtest.Config(server, proxy))

	conformance.Run(t, conformance.Suite{
		Kind:   role.Kind(),
		Scheme: scheme,
		NewConnecterWithReader: func(secrets client.Reader) managed.ExternalConnecter {
			return managed.Untyped(role.NewConnector(readingLinker{link, secrets}, "cluster"))
		},
		Class:   conformance.Named,
		Options: role.Options(),
		Samples: []resource.Managed{object("sample"), object("sample-2")},
		Mutations: []conformance.Mutation{
			{
				Name:   "limit",
				Change: func(mg resource.Managed) { mg.(*v1alpha1.Role).Spec.ForProvider.ConnectionLimit = new(int32(5)) },
				Want:   map[string]string{"limit": "5"},
			},
			{
				Name:   "login",
				Change: func(mg resource.Managed) { mg.(*v1alpha1.Role).Spec.ForProvider.Login = new(false) },
				Want:   map[string]string{"login": "false"},
			},
			{
				Name:   "rotation", // which also restores a deleted Secret
				Change: func(mg resource.Managed) { mg.(*v1alpha1.Role).Spec.ForProvider.PasswordRotation = "1" },
				Want:   map[string]string{"rotation": "1"},
			},
		},
		Probe:       probe{proxy, server},
		Secrets:     []string{pgserver.Password},
		Patience:    5 * time.Second,
		CallTimeout: 10 * time.Second,
		Within:      *within,
	})
}
