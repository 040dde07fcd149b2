package systemtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test"
)

// everywhere runs a test with objects in an API server, and in stores. The tests of examples/store-controller run it
// with objects in NATS.
func everywhere(t *testing.T, story func(*testing.T, stories.Place)) {
	t.Helper()
	t.Run("server", func(t *testing.T) { story(t, inServer) })
	t.Run("stores", func(t *testing.T) { story(t, inStores) })
}

func TestRequestBudget(t *testing.T) { everywhere(t, stories.RequestBudget) }

func TestRequestBudgetDeterministicName(t *testing.T) {
	everywhere(t, stories.RequestBudgetDeterministicName)
}

func TestRequestBudgetWithEverything(t *testing.T) {
	everywhere(t, stories.RequestBudgetWithEverything)
}

// TestRequestBudgetDeletionGuard runs on an API server alone: stores have neither definitions of
// kinds nor namespaces.
func TestRequestBudgetDeletionGuard(t *testing.T) {
	for reads, guard := range map[string]managed.ReconcilerOption{
		"customresourcedefinitions": managed.WithKindDeletionGuard(),
		"namespaces":                managed.WithNamespaceDeletionGuard(),
	} {
		t.Run(reads, func(t *testing.T) {
			t.Parallel()
			stories.RequestBudgetDeletionGuard(t, inServer, guard, reads)
		})
	}
}

func TestFinalizer(t *testing.T) { everywhere(t, stories.Finalizer) }

func TestBadInput(t *testing.T) { everywhere(t, stories.BadInput) }

func TestAnAPIServerRefusesHugeAnnotations(t *testing.T) { everywhere(t, stories.HugeAnnotations) }

func inServer(t *testing.T) (*stories.Provider, manager.Manager) {
	t.Helper()
	p := &stories.Provider{T: t, API: api, Namespace: namespace(t, api), Ledger: &test.Ledger{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(p.Ledger.Wrap)
	options := stories.ManagerOptions(scheme)
	options.Cache = managed.CacheOptions()
	options.Cache.DefaultNamespaces = map[string]cache.Config{p.Namespace: {}}
	m, err := ctrl.NewManager(counted, options)
	if err != nil {
		t.Fatal(err)
	}

	return p, m
}

func inStores(t *testing.T) (*stories.Provider, manager.Manager) {
	t.Helper()

	return stories.InStores(t, scheme, nil, kinds()...)
}

// kinds returns the kinds of the tests, each in a store of its own.
func kinds() []kube.Kind {
	return []kube.Kind{
		kube.Serve(memory.New[*kube.Envelope[*volume.Volume]]("volumes")),
		kube.Serve(memory.New[*kube.Envelope[*volume.Snapshot]]("snapshots")),
		kube.Serve(memory.New[*kube.Envelope[*volume.ProviderConfig]]("configs")),
		kube.Serve(memory.New[*kube.Envelope[*corev1.Secret]]("secrets")),
		kube.Serve(memory.New[*kube.Envelope[*eventsv1.Event]]("events")),
	}
}
