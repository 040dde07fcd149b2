package systemtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A place is where the objects of a provider are. It makes a manager whose requests
// are counted.
type place func(t *testing.T) (*provider, manager.Manager)

// Everywhere runs a test with objects in an API server, and in stores.
func everywhere(t *testing.T, story func(*testing.T, place)) {
	t.Helper()
	t.Run("server", func(t *testing.T) { story(t, inServer) })
	t.Run("stores", func(t *testing.T) { story(t, inStores) })
}

func managerOptions() manager.Options {
	return manager.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	}
}

func inServer(t *testing.T) (*provider, manager.Manager) {
	t.Helper()
	p := &provider{T: t, api: api, ns: namespace(t, api), ledger: &test.Ledger{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(p.ledger.Wrap)
	options := managerOptions()
	options.Cache = managed.CacheOptions()
	options.Cache.DefaultNamespaces = map[string]cache.Config{p.ns: {}}
	m, err := ctrl.NewManager(counted, options)
	if err != nil {
		t.Fatal(err)
	}

	return p, m
}

func inStores(t *testing.T) (*provider, manager.Manager) {
	t.Helper()
	p := &provider{T: t, ns: "default", ledger: &test.Ledger{}}
	c, err := kube.NewCluster(scheme, kube.Options{
		Cache:  managed.CacheOptions(),
		Around: func(c client.WithWatch) client.WithWatch { p.api = c; return p.ledger.Count(c) },
	}, kinds()...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := kube.NewManager(c, managerOptions())
	if err != nil {
		t.Fatal(err)
	}

	return p, m
}

// Kinds returns those of the tests, each in a store of its own.
func kinds() []kube.Kind {
	return []kube.Kind{
		kube.Serve(memory.New[*kube.Envelope[*volume.Volume]]("volumes")),
		kube.Serve(memory.New[*kube.Envelope[*volume.Snapshot]]("snapshots")),
		kube.Serve(memory.New[*kube.Envelope[*volume.ProviderConfig]]("configs")),
		kube.Serve(memory.New[*kube.Envelope[*corev1.Secret]]("secrets")),
		kube.Serve(memory.New[*kube.Envelope[*eventsv1.Event]]("events")),
	}
}
