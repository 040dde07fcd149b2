package database_test

import (
	"flag"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller/database"
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
	if err := server.Exec(t.Context(), "CREATE ROLE app; CREATE ROLE other"); err != nil {
		t.Fatal(err)
	}
	proxy := pgtest.NewProxy(t, server)
	link := pgtest.NewLinker(t, pgtest.Config(server, proxy))

	conformance.Run(t, conformance.Suite{
		Kind:   database.Kind(),
		Scheme: scheme,
		NewConnecter: func() managed.ExternalConnecter {
			return managed.Untyped(database.NewConnector(link, "cluster"))
		},
		Class:   conformance.Named,
		Options: database.Options(),
		Samples: []resource.Managed{object("sample"), object("sample-2")},
		Mutations: []conformance.Mutation{
			{
				Name: "limit",
				Change: func(mg resource.Managed) {
					mg.(*v1alpha1.Database).Spec.ForProvider.ConnectionLimit = new(int32(5))
				},
				Want: map[string]string{"limit": "5"},
			},
			{
				Name:   "owner",
				Change: func(mg resource.Managed) { mg.(*v1alpha1.Database).Spec.ForProvider.Owner = new("other") },
				Want:   map[string]string{"owner": "other"},
			},
			{
				Name:      "encoding",
				Change:    func(mg resource.Managed) { mg.(*v1alpha1.Database).Spec.ForProvider.Encoding = new("LATIN1") },
				Immutable: true,
			},
		},
		Probe:       probe{proxy, server},
		Secrets:     []string{pgserver.Password},
		Patience:    5 * time.Second,
		CallTimeout: 10 * time.Second,
		Within:      *within,
	})
}
