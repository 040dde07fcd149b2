package clusterstest

import "github.com/moorage-dev/moorage/pkg/clusters/clientmanagertest"

// FakeClientProvider is clientmanagertest.FakeClientProvider.
type FakeClientProvider[C any] = clientmanagertest.FakeClientProvider[C]

// NewFakeClientProvider calls clientmanagertest.NewFakeClientProvider.
func NewFakeClientProvider[C any](defaultClient C) *FakeClientProvider[C] {
	return clientmanagertest.NewFakeClientProvider(defaultClient)
}
