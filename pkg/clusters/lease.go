package clusters

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Errors to branch on. Whoever gets ErrStale calls Refresh before the next Get.
// ErrExpired and ErrReplaced are also what context.Cause says of the context of a
// lease that has ended.
var (
	ErrNotFound = errors.New("cluster client does not exist")
	ErrStale    = errors.New("cluster revision is stale")
	ErrExpired  = errors.New("credentials of the cluster have expired")
	ErrReplaced = errors.New("connection to the cluster was replaced")
)

// A Key names a cluster.
type Key = types.NamespacedName

// A Revision of a connection. Two that differ are two connections; nothing else can
// be told from it. An empty one means that there is no connection.
type Revision string

// A Ref is a cluster as somebody has read it.
type Ref struct {
	Key      Key
	UID      types.UID // of the object; another one of the same name is another cluster
	Revision Revision
}

// A User is an object that holds something which was built on a connection, such as
// watches. Kind tells apart the controllers that share a Manager.
type User struct {
	Kind string
	Key  Key
}

// A Lease is the right to use a connection. The zero value is none.
type Lease[C any] struct {
	// Client is the connection. All users of a revision share it.
	Client C

	// Revision is that of the connection.
	Revision Revision

	// Context ends when the connection is replaced, dropped or expired. What runs on
	// the connection must run under it.
	Context context.Context //nolint:containedctx // its life is the lease's, not that of a call

	release func()
}

// Release gives the connection back. It is closed when it has been replaced and all
// of its leases are back. Further calls do nothing; neither does it on the zero value.
func (l Lease[C]) Release() {
	if l.release != nil {
		l.release()
	}
}

// A Provider has connections to clusters. Its methods may be called concurrently, and
// its connections used so.
type Provider[C any] interface {
	// Get returns the connection to a cluster and its revision. The error is
	// ErrNotFound for a cluster that it does not know, and says what is wrong with
	// one that is known and cannot be reached.
	Get(ctx context.Context, key Key) (client C, rev Revision, err error)
}

// An Acquirer is a Provider that knows who uses its connections, so that it can close
// them, and can end leases by itself.
type Acquirer[C any] interface {
	// Acquire returns a lease on the connection, which the caller releases. Errors
	// are those of Provider.Get.
	Acquire(ctx context.Context, key Key) (Lease[C], error)
}

// A Notifier is a Provider that says when something about a cluster has changed.
type Notifier interface {
	// Listen lets changed be called whenever the answer for a cluster may be another
	// one than before, until stop is called. It must not wait.
	Listen(changed func(Key)) (stop func())
}
