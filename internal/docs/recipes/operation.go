package recipes

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// An Operation is a long-running operation of the server.
type Operation struct {
	ID     string
	Done   bool
	Failed string // why, or ""
}

// An OperationAPI creates databases in operations, and does not show them before. OperationOn returns the operation
// that creates the database of a name, or ErrNotFound. Start returns ErrConflict if the name is taken.
type OperationAPI interface {
	Start(ctx context.Context, db Record) (Operation, error)
	Operation(ctx context.Context, id string) (Operation, error)
	OperationOn(ctx context.Context, name string) (Operation, error)
}

// An OperationClient creates a database in an operation. SlowClient does everything else.
type OperationClient struct {
	*SlowClient

	Operations OperationAPI
}

// Create starts the operation. The reconciler stores its ID in the object.
func (c *OperationClient) Create(ctx context.Context, db *v1alpha1.Database) error {
	op, err := c.Operations.Start(ctx, c.desired(db))
	switch {
	case errors.Is(err, ErrConflict):
		return external.AlreadyExists(err)
	case err != nil:
		return err
	default:
		return external.InProgress(op.ID, 30*time.Second)
	}
}

// Observe reads the operation until it is done, and then the database.
func (c *OperationClient) Observe(ctx context.Context, db *v1alpha1.Database) (managed.ExternalObservation, error) {
	var op Operation
	var err error
	if id := external.OperationHandle(ctx); id != "" {
		op, err = c.Operations.Operation(ctx, id)
	} else { // the process may have ended before the ID was stored
		op, err = c.Operations.OperationOn(ctx, meta.GetExternalName(db))
	}
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return managed.ExternalObservation{}, err
	case op.Failed != "":
		return managed.ExternalObservation{}, external.NotCreated(errors.New(op.Failed))
	case err == nil && !op.Done:
		return managed.ExternalObservation{}, external.InProgress(op.ID, 0) // again after a tenth of the time so far
	default:
		return c.SlowClient.Observe(ctx, db)
	}
}
