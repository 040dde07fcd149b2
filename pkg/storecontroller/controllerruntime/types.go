package controllerruntime

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/store"
)

// Reasons and messages of events.
const (
	ReasonResourceSynced         = "Synced"
	ReasonErrResourceExists      = "ErrResourceExists"
	MessageErrResourceExists     = "Resource %q already exists and is not managed by this controller"
	MessageResourceSyncedCreated = "%q synced successfully (created)"
	MessageResourceSyncedUpdated = "%q synced successfully (updated)"
	MessageResourceSyncedDeleted = "%q synced successfully (deleted)"
)

// Marks of secondaries in Kubernetes. See storecontroller.Marks for what a label
// has if it cannot hold the key.
const (
	OwnerKeyLabel       = "kumori/ownerkey"
	OwnerkindLabel      = "kumori/ownerkind"
	OwnerKeyAnnotation  = "kumori/ownerkey"
	OwnerkindAnnotation = "kumori/ownerkind"
)

// Operation is why a primary is looked at. It is a hint: operations on one key are
// not told apart when they come together, and what counts is what is there when
// SyncHandler looks.
type Operation uint8

// The operations.
const (
	OperationPut Operation = iota
	OperationDelete
	OperationPurge
	OperationSecondary
)

// String returns the operation as a word.
func (o Operation) String() string {
	switch o {
	case OperationPut, OperationDelete, OperationPurge:
		return store.Op(o).String()
	case OperationSecondary:
		return "secondary"
	default:
		return "unknown"
	}
}

// IController is what an author implements.
type IController interface {
	// Run usually calls that of the runtime. The runtime never calls it.
	Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error)

	// SyncHandler compares what is with what the primary of that key wants, and
	// acts. After an error it is called again, later each time. It is called for
	// one key by one goroutine at a time.
	SyncHandler(key string) error

	// HandleSecondary is called with a secondary that was added, changed or
	// deleted: an object of Kubernetes, a cache.DeletedFinalStateUnknown, or an
	// entity. Usually it asks for a pass over the owner, with EnqueueKey.
	HandleSecondary(obj any)

	// GarbageSecondaries looks for secondaries whose owner is gone.
	GarbageSecondaries()

	// Clean is called once, when everything else has ended.
	Clean()
}

// IEntity is an object in a store.
type IEntity interface{ store.Object }

// IEntityClient is a store of entities. Every store.Store is one.
type IEntityClient[T IEntity] interface{ store.Store[T] }

// IExternalClient is a system outside. What it tells of is looked at by
// SyncHandler.
type IExternalClient interface {
	// Start begins to watch, and calls enqueue with the key of each primary that
	// something outside concerns. It does not block, and ends with the context.
	Start(ctx context.Context, enqueue func(key string)) error

	// Stop is called when the runtime ends.
	Stop()
}

// None stands in the place of an entity that is not used. Its client is nil.
type None struct{}

// GetMetadata returns nil: there are none.
func (None) GetMetadata() *store.Metadata { return nil }
