package testing

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// What contexts for tests are about.
const (
	// DefaultTestTargetNamespace is where on the host the objects are.
	DefaultTestTargetNamespace = "test"

	// DefaultTestCurrentNamespace is where on the host the syncer runs.
	DefaultTestCurrentNamespace = "test"

	// DefaultTestVclusterName is the name of the virtual cluster.
	DefaultTestVclusterName = "vcluster"

	// DefaultTestVclusterServiceName is its service.
	DefaultTestVclusterServiceName = "vcluster"
)

// NewFakeRegisterContext returns a context of two clusters in memory. The host is
// the first one, as it always was.
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

// FakeStartSyncer makes a syncer, registers its indices if it has some, and returns
// the context of a pass. It calls no Init and starts no controller.
func FakeStartSyncer(t *testing.T, ctx *synccontext.RegisterContext, create func(ctx *synccontext.RegisterContext) (syncer.Base, error)) (*synccontext.SyncContext, syncer.Base) {
	t.Helper()
	s, err := create(ctx)
	if err != nil {
		t.Fatalf("cannot make the syncer: %v", err)
	}
	if i, ok := syncer.As[syncer.IndicesRegisterer](s); ok {
		if err := i.RegisterIndices(ctx); err != nil {
			t.Fatalf("cannot register indices: %v", err)
		}
	}
	return synccontext.ConvertContext(ctx, s.Name()), s
}

type manager struct {
	*fake.Manager

	indexer client.FieldIndexer
}

func newManager(c *FakeIndexClient) *manager {
	return &manager{Manager: &fake.Manager{Client: c, Scheme: c.Scheme(), RESTMapper: c.RESTMapper()}, indexer: c}
}

func (m *manager) GetFieldIndexer() client.FieldIndexer { return m.indexer }
