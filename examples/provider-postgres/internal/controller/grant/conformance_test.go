package grant_test

import (
	"flag"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller/grant"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
)

var within = flag.Duration("within", 0, "how long schedules with faults are started; 0 is the default of the suite")

// TestConformance runs the client on a real server with the failures of a real cluster. The user of the provider has
// CREATEDB and CREATEROLE, and no more.
func TestConformance(t *testing.T) {
	server, ok := pgtest.Start(t)
	if !ok {
		return
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	err := server.Exec(t.Context(), `CREATE ROLE clerk; CREATE ROLE app`)
	if err == nil {
		err = server.Exec(t.Context(), "CREATE DATABASE shop OWNER app")
	}
	if err == nil {
		err = server.Exec(t.Context(), "CREATE DATABASE store OWNER app")
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy := pgtest.NewProxy(t, server)
	link := pgtest.NewLinker(t, pgtest.Config(server, proxy))

	conformance.Run(t, conformance.Suite{
		Kind:   grant.Kind(),
		Scheme: scheme,
		NewConnecter: func() managed.ExternalConnecter {
			return managed.Untyped(grant.NewConnector(link, "cluster"))
		},
		Class:   conformance.Named,
		Options: grant.Options(),
		Samples: []resource.Managed{object("sample"), object("sample-2")},
		Mutations: []conformance.Mutation{{
			Name: "more",
			Change: func(mg resource.Managed) {
				mg.(*v1alpha1.Grant).Spec.ForProvider.Privileges = []v1alpha1.Privilege{"CREATE", "CONNECT"}
			},
			Want: map[string]string{"privileges": "CONNECT CREATE"},
		}},
		Probe:       probe{proxy, server},
		Secrets:     []string{pgserver.Password},
		Patience:    5 * time.Second,
		CallTimeout: 10 * time.Second,
		Within:      *within,
	})
}
