package clusters

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Errors to branch on. After ErrStale, the caller calls Refresh before the next Get.
// context.Cause of the context of a lease that has ended is ErrExpired or ErrReplaced.
var (
	ErrNotFound = errors.New("cluster client does not exist")
	ErrStale    = errors.New("cluster revision is stale")
	ErrExpired  = errors.New("credentials of the cluster have expired")
	ErrReplaced = errors.New("connection to the cluster was replaced")
)

// A Key identifies a cluster.
type Key = types.NamespacedName

// A Revision identifies a version of a connection. Revisions can only be compared for
// equality. The empty one means that there is no connection.
type Revision string

// A Ref is a cluster as the caller has read it.
type Ref struct {
	Key      Key
	UID      types.UID // of the object; another one of the same name is another cluster
	Revision Revision
}

// A User is an object that uses a connection, such as for watches. Kind distinguishes the
// controllers that share a Manager.
type User struct {
	Kind string
	Key  Key
}

// A Lease is the right to use a connection. The zero value is no lease.
type Lease[C any] struct {
	// Client is the connection. All users of a revision share it.
	Client C

	// Revision is that of the connection.
	Revision Revision

	// Context ends when the connection is replaced, dropped or expired. Everything that
	// uses the connection must run under it.
	Context context.Context //nolint:containedctx // it lives as long as the lease, not as long as a call

	release func()
}

// Release releases the lease. The connection is closed when it was replaced and all its
// leases are released. Further calls do nothing, and neither does a call on the zero
// value.
func (l Lease[C]) Release() {
	if l.release != nil {
		l.release()
	}
}

// A Provider returns connections to clusters. Its methods, and its connections, must be
// safe for concurrent use.
type Provider[C any] interface {
	// Get returns the connection to a cluster and its revision. The error is
	// ErrNotFound for an unknown cluster, and another one for a known cluster that cannot
	// be reached.
	Get(ctx context.Context, key Key) (client C, rev Revision, err error)
}

// An Acquirer is a Provider that tracks the users of its connections, so that it can
// close connections and end leases.
type Acquirer[C any] interface {
	// Acquire returns a lease on the connection. The caller releases it. The errors are
	// those of Provider.Get.
	Acquire(ctx context.Context, key Key) (Lease[C], error)
}

// A Notifier is a Provider that reports changes of its connections.
type Notifier interface {
	// Listen calls changed whenever the connection to a cluster may have changed, until
	// stop is called. The function changed must not block.
	Listen(changed func(Key)) (stop func())
}
