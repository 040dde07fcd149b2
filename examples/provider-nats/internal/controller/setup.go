package controller

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Setup adds the controllers of all kinds to the manager, whose scheme must know
// them. They share their connections. If pollWhenTold is not zero, streams on one
// connection share lists, and are polled no more often than that while JetStream
// tells what happens to them. Reconciler options are applied last.
func Setup(ctx context.Context, mgr ctrl.Manager, o controller.Options, pollWhenTold time.Duration, ro ...managed.ReconcilerOption) error {
	if o.Logger == nil {
		o.Logger = logging.NewNopLogger()
	}

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

	if err := providerconfig.Setup(mgr, ProviderConfigKinds(), users(), providerconfig.WithLogger(o.Logger)); err != nil {
		return err
	}

	for _, kind := range Kinds() {
		wake, err := providerconfig.EnqueueUsers(mgr.GetClient(), ProviderConfigKinds(), kind.user)
		if err != nil {
			return errors.Wrapf(err, "cannot see to it that a corrected configuration wakes objects of the kind %s", kind.name)
		}

		connecter := NewConnecter(connections, kind, cluster)
		options := append([]managed.ReconcilerOption{
			managed.WithWatch(&v1alpha1.ProviderConfig{}, wake),
			managed.WithWatch(&v1alpha1.ClusterProviderConfig{}, wake),
			managed.WithExternalConnecter(connecter),
			managed.WithDeterministicExternalName(true),
			managed.WithVolatileStatus(VolatileStatus()...),
			// NATS shows at once what it has created.
			managed.WithCreationGracePeriod(0),
		}, append(shared(connecter, pollWhenTold), ro...)...)

		if err := managed.Setup(mgr, resource.ManagedKind(kind.GroupVersionKind()), o, options...); err != nil {
			return err
		}
	}

	return nil
}

// shared returns the options by which objects on one connection share what NATS
// says, if what they stand for is a stream.
func shared(c *Connecter, pollWhenTold time.Duration) []managed.ReconcilerOption {
	if c.kind.external == nil || pollWhenTold <= 0 {
		return nil
	}

	return []managed.ReconcilerOption{managed.WithBulkObservation(0), managed.WithExternalEvents(c, pollWhenTold)}
}

// users are the kinds of objects that name a configuration.
func users() []providerconfig.User {
	var out []providerconfig.User
	for _, kind := range Kinds() {
		out = append(out, kind.user)
	}

	return out
}
