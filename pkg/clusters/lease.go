package clusters

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Errors to branch on. After ErrStale, the caller calls Manager.Refresh before the next Manager.Get. When a lease has
// ended, context.Cause of Lease.Context wraps ErrExpired or ErrReplaced.
var (
	ErrNotFound = errors.New("cluster client does not exist")
	ErrStale    = errors.New("cluster revision is stale")
	ErrExpired  = errors.New("credentials of the cluster have expired")
	ErrReplaced = errors.New("connection to the cluster was replaced")
)

// A Key identifies a cluster.
type Key = types.NamespacedName

// A Revision identifies a version of a connection. Revisions can only be compared for equality. The empty revision
// means that there is no connection.
type Revision string

// A Ref identifies a cluster and the revision of its connection, as the caller has read them.
type Ref struct {
	Key      Key
	UID      types.UID // UID of the cluster object; another UID is another cluster
	Revision Revision
}

// A User is an object that uses a connection, for instance for watches. Kind distinguishes the controllers that share a
// Manager.
type User struct {
	Kind string
	Key  Key
}

// A Lease is the right to use a connection until its Context ends. The zero value holds no connection.
type Lease[C any] struct {
	// Client is the connection. All users of a revision share the same connection.
	Client C

	// Revision is the revision of the connection.
	Revision Revision

	// Context ends when the connection is replaced, dropped or expired. Run everything that uses the connection with this
	// context.
	Context context.Context //nolint:containedctx // it lives as long as the lease, not as long as a call

	release func()
}

// Release releases the lease. A connection that was replaced is closed when all its leases are released. Further calls,
// and calls on the zero value, do nothing.
func (l Lease[C]) Release() {
	if l.release != nil {
		l.release()
	}
}

// A Provider returns connections to clusters. Its methods and its connections must be safe for concurrent use.
type Provider[C any] interface {
	// Get returns the connection to a cluster and its revision. For an unknown cluster it returns ErrNotFound. For a known
	// cluster that cannot be reached it returns another error.
	Get(ctx context.Context, key Key) (client C, rev Revision, err error)
}

// An Acquirer is a Provider that tracks the users of its connections. It can therefore close connections and end
// leases.
type Acquirer[C any] interface {
	// Acquire returns a lease on the connection to a cluster. The caller must release the lease. The errors are the same
	// as those of Provider.Get.
	Acquire(ctx context.Context, key Key) (Lease[C], error)
}

// A Notifier is a Provider that reports changes of its connections.
type Notifier interface {
	// Listen calls the function changed each time the connection to a cluster may have changed. The calls end when the
	// returned function stop is called. The function changed must not block.
	Listen(changed func(Key)) (stop func())
}
