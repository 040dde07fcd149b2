package reconciler

import "github.com/moorage-dev/moorage/pkg/reconciler/managed"

// What the author of a provider writes.
type (
	// An ExternalClient manages the lifecycle of one kind of external resource.
	ExternalClient = managed.ExternalClient

	// ExternalClientFns are an ExternalClient made of functions.
	ExternalClientFns = managed.ExternalClientFns

	// An ExternalObservation is what Observe found.
	ExternalObservation = managed.ExternalObservation

	// An ExternalConnecter produces an ExternalClient for a managed resource.
	ExternalConnecter = managed.ExternalConnecter

	// An ExternalConnectorFn is an ExternalConnecter made of a function.
	ExternalConnectorFn = managed.ExternalConnectorFn

	// An ExternalDisconnecter ends what an ExternalConnecter began.
	ExternalDisconnecter = managed.ExternalDisconnecter

	// An ExternalDisconnectorFn is an ExternalDisconnecter made of a function.
	ExternalDisconnectorFn = managed.ExternalDisconnectorFn

	// An ExternalConnectDisconnecter connects and disconnects.
	ExternalConnectDisconnecter = managed.ExternalConnectDisconnecter

	// ExternalConnectDisconnecterFns are an ExternalConnectDisconnecter made of
	// functions.
	ExternalConnectDisconnecterFns = managed.ExternalConnectDisconnecterFns
)

// What does nothing.
type (
	// A NopClient is an ExternalClient that does nothing.
	NopClient = managed.NopClient

	// A NopConnecter connects to a NopClient.
	NopConnecter = managed.NopConnecter

	// A NopDisconnecter connects as another connecter does, and has nothing to
	// disconnect.
	NopDisconnecter = managed.NopDisconnecter
)

// NewNopDisconnecter is [managed.NewNopDisconnecter].
func NewNopDisconnecter(c ExternalConnecter) ExternalConnectDisconnecter {
	return managed.NewNopDisconnecter(c)
}
