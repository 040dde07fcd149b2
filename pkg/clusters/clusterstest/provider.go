package clusterstest

import "github.com/moorage-dev/moorage/pkg/clusters/clientmanagertest"

// FakeClientProvider is the one of clientmanagertest.
type FakeClientProvider[C any] = clientmanagertest.FakeClientProvider[C]

// NewFakeClientProvider is the one of clientmanagertest.
func NewFakeClientProvider[C any](defaultClient C) *FakeClientProvider[C] {
	return clientmanagertest.NewFakeClientProvider(defaultClient)
}
