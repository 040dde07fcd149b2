package controller

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Setup adds the controllers of all kinds to the manager, whose scheme must know
// them. They share their connections. Reconciler options are applied last.
func Setup(ctx context.Context, mgr ctrl.Manager, o controller.Options, ro ...managed.ReconcilerOption) error {
	cluster, err := managed.ClusterUID(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}

	connections := NewConnections(mgr.GetClient(), mgr.GetAPIReader())
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		connections.Close()

		return nil
	})); err != nil {
		return errors.Wrap(err, "cannot see to it that connections are closed")
	}

	for _, kind := range Kinds() {
		options := append([]managed.ReconcilerOption{
			managed.WithExternalConnecter(NewConnecter(connections, kind, cluster)),
			managed.WithDeterministicExternalName(true),
			managed.WithVolatileStatus(VolatileStatus()...),
			// NATS shows at once what it has created.
			managed.WithCreationGracePeriod(0),
		}, ro...)

		if err := managed.Setup(mgr, resource.ManagedKind(kind.GroupVersionKind()), o, options...); err != nil {
			return err
		}
	}

	return nil
}
