package testing

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// The settings of NewFakeRegisterContext.
const (
	// DefaultTestTargetNamespace is the namespace of the host objects.
	DefaultTestTargetNamespace = "test"

	// DefaultTestCurrentNamespace is the namespace on the host in which the syncer runs.
	DefaultTestCurrentNamespace = "test"

	// DefaultTestVclusterName is the name of the virtual cluster.
	DefaultTestVclusterName = "vcluster"

	// DefaultTestVclusterServiceName is the service of the virtual cluster.
	DefaultTestVclusterServiceName = "vcluster"
)

// NewFakeRegisterContext returns a context with two in-memory clusters. The argument pClient is the client of the host,
// and the argument vClient is the client of the virtual cluster.
func NewFakeRegisterContext(pClient, vClient *FakeIndexClient) *synccontext.RegisterContext {
	return &synccontext.RegisterContext{
		Context: context.Background(),
		Options: &synccontext.VirtualClusterOptions{
			Name:            DefaultTestVclusterName,
			ServiceName:     DefaultTestVclusterServiceName,
			TargetNamespace: DefaultTestTargetNamespace,
		},
		TargetNamespace:        DefaultTestTargetNamespace,
		CurrentNamespace:       DefaultTestCurrentNamespace,
		CurrentNamespaceClient: pClient,
		VirtualManager:         newManager(vClient),
		PhysicalManager:        newManager(pClient),
	}
}

// FakeStartSyncer calls the function create, and returns the created syncer and the context of a pass. If the syncer is
// an IndicesRegisterer, it also registers the indices. It does not call Init and starts no controller.
func FakeStartSyncer(
	t *testing.T, ctx *synccontext.RegisterContext,
	create func(ctx *synccontext.RegisterContext) (syncer.Base, error),
) (*synccontext.SyncContext, syncer.Base) {
	t.Helper()
	s, err := create(ctx)
	if err != nil {
		t.Fatalf("cannot create the syncer: %v", err)
	}
	if i, ok := syncer.As[syncer.IndicesRegisterer](s); ok {
		if err := i.RegisterIndices(ctx); err != nil {
			t.Fatalf("cannot register indices: %v", err)
		}
	}
	return synccontext.ConvertContext(ctx, s.Name()), s
}

// A manager is a fake manager with a field indexer.
type manager struct {
	*fake.Manager

	indexer client.FieldIndexer
}

func newManager(c *FakeIndexClient) *manager {
	return &manager{Manager: &fake.Manager{Client: c, Scheme: c.Scheme(), RESTMapper: c.RESTMapper()}, indexer: c}
}

func (m *manager) GetFieldIndexer() client.FieldIndexer { return m.indexer }
