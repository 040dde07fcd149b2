package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Sharing configures what the objects of one connection share.
type Sharing struct {
	// PollWhenNotified, if it is not zero, lets streams share lists, and is the poll interval of each while
	// JetStream notifies of its changes.
	PollWhenNotified time.Duration

	// WatchSecrets lets the provider read a Secret that a connection was made from again as soon as it
	// changes, and not only once a minute. The role has to allow to watch it.
	WatchSecrets bool

	// Limits bound the rate of all calls to what NATS serves. Nil means no limit.
	Limits *limit.Set

	// Credentials is the Secret to log in with. Without a name, each configuration names one.
	Credentials types.NamespacedName
}

// Setup adds the controllers of all kinds to the manager, whose scheme must know
// them. They share their connections. Reconciler options are applied last.
func Setup(
	ctx context.Context, mgr ctrl.Manager, o controller.Options, share Sharing, ro ...managed.ReconcilerOption,
) error {
	if o.Logger == nil {
		o.Logger = logging.NewNopLogger()
	}

	cluster, err := managed.ClusterUID(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}

	connections, err := share.connections(mgr)
	if err != nil {
		return err
	}

	if err := providerconfig.Setup(mgr, ProviderConfigKinds(), users(), providerconfig.WithLogger(o.Logger),
		providerconfig.WithLimits(share.Limits)); err != nil {
		return err
	}

	for _, kind := range Kinds() {
		wake, err := providerconfig.EnqueueUsers(mgr.GetClient(), ProviderConfigKinds(), kind.user)
		if err != nil {
			return errors.Wrapf(err, "cannot wake objects of the kind %s when their configuration changes", kind.name)
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
			// The deletion of the CRD deletes all objects of the kind, but no messages.
			managed.WithKindDeletionGuard(),
			managed.WithLimits(share.Limits),
		}, append(share.options(connecter), ro...)...)

		if err := managed.Setup(mgr, resource.ManagedKind(kind.GroupVersionKind()), o, options...); err != nil {
			return err
		}
	}

	return nil
}

// connections returns those of all kinds, which end with the manager.
func (s Sharing) connections(mgr ctrl.Manager) (*Connections, error) {
	connections, end := NewConnections(mgr.GetClient(), mgr.GetAPIReader()), func() {}
	connections.credentials = s.Credentials

	if s.WatchSecrets {
		watcher, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
			Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		})
		if err != nil {
			return nil, errors.Wrap(err, "cannot watch Secrets")
		}

		secrets := credentials.NewFollower(watcher)
		connections.Follow(secrets)

		end = secrets.Close
	}

	return connections, errors.Wrap(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		connections.Close()
		end()

		return nil
	})), "cannot close connections at the end")
}

// options returns the options by which objects of one connection share lists and notifications, if their
// external resources are streams.
func (s Sharing) options(c *Connecter) []managed.ReconcilerOption {
	if c.kind.external == nil || s.PollWhenNotified <= 0 {
		return nil
	}

	return []managed.ReconcilerOption{managed.WithBulkObservation(0), managed.WithExternalEvents(c, s.PollWhenNotified)}
}

// users are the kinds of objects that name a configuration.
func users() []providerconfig.User {
	var out []providerconfig.User
	for _, kind := range Kinds() {
		out = append(out, kind.user)
	}

	return out
}
