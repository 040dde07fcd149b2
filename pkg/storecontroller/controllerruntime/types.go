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

// Keys of the labels and annotations that name the owner of a secondary in Kubernetes. See storecontroller.Marks for
// values that a label cannot hold.
const (
	OwnerKeyLabel       = "kumori/ownerkey"
	OwnerkindLabel      = "kumori/ownerkind"
	OwnerKeyAnnotation  = "kumori/ownerkey"
	OwnerkindAnnotation = "kumori/ownerkind"
)

// An Operation is the reason for which SyncHandler is called. It is a hint: several operations on one key may cause one
// call of SyncHandler, which reads the current state.
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

// IController is the interface that the author of a controller implements.
type IController interface {
	// Run usually calls Run of the runtime. The runtime never calls it.
	Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error)

	// SyncHandler makes the actual state match the spec of the primary with the key. An error is retried with backoff. For
	// one key, only one goroutine at a time calls SyncHandler.
	SyncHandler(key string) error

	// HandleSecondary receives a secondary that was added, changed or deleted: an object in Kubernetes, a
	// cache.DeletedFinalStateUnknown, or an entity. Usually it enqueues the owner with EnqueueKey.
	HandleSecondary(obj any)

	// GarbageSecondaries finds secondaries whose owner does not exist.
	GarbageSecondaries()

	// Clean is called once, after all other calls have ended.
	Clean()
}

// IEntity is an object in a store.
type IEntity interface{ store.Object }

// IEntityClient is a store of entities. Every store.Store implements it.
type IEntityClient[T IEntity] interface{ store.Store[T] }

// IExternalClient is the client of an external system. Its notifications enqueue primaries.
type IExternalClient interface {
	// Start starts a watch of the external system. It calls enqueue with the key of each primary that a change concerns.
	// It does not block. The watch ends with the context.
	Start(ctx context.Context, enqueue func(key string)) error

	// Stop is called when the runtime ends.
	Stop()
}

// None is the type argument for an unused kind of entity. Its client is nil.
type None struct{}

// GetMetadata returns nil: there are no such entities.
func (None) GetMetadata() *store.Metadata { return nil }
