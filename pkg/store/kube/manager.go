package kube

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// ErrNoAdmission is the error of Start if a manager from NewManager has webhooks, which only an API server calls.
var ErrNoAdmission = errors.New("there is no admission: webhooks take an API server, and the objects are in stores")

// NewManager returns a controller-runtime manager whose controllers work on the cluster c. The manager also starts the
// cluster. Controllers are added to it as to any other manager. The manager uses the client, the cache, the mapper and
// the scheme of the cluster, and ignores the options for them.
//
// NewManager returns an error if leader election is enabled without a lock in the options, because a store has no
// Leases. Start returns ErrNoAdmission if there are webhooks.
func NewManager(c *Cluster, o manager.Options) (manager.Manager, error) {
	if o.LeaderElection && o.LeaderElectionResourceLockInterface == nil {
		return nil, errors.New("cannot elect a leader: a store has no Leases, and the options bring no lock")
	}
	o.Scheme, o.Client, o.Cache = c.GetScheme(), client.Options{}, cache.Options{}
	o.NewCache = func(*rest.Config, cache.Options) (cache.Cache, error) { return c.cache, nil }
	o.NewClient = func(*rest.Config, client.Options) (client.Client, error) { return c.cached, nil }
	o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.GetRESTMapper(), nil }
	o.WebhookServer = refusing{webhook.NewServer(webhook.Options{})}
	m, err := manager.New(c.config, o)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a manager")
	}
	if err := m.Add(recording{c.recorder}); err != nil {
		return nil, errors.Wrap(err, "cannot record events")
	}

	return &managerOfStores{Manager: m, cluster: c}, nil
}

// A managerOfStores is a manager whose API reader, event recorders and HTTP client are those of the cluster.
type managerOfStores struct {
	manager.Manager

	cluster *Cluster
}

// GetAPIReader returns a client that reads the stores.
func (m *managerOfStores) GetAPIReader() client.Reader { return m.cluster.GetAPIReader() }

// GetEventRecorder returns a recorder of the cluster.
func (m *managerOfStores) GetEventRecorder(name string) recorder.EventRecorder {
	return m.cluster.GetEventRecorder(name)
}

// GetEventRecorderFor returns a recorder of the cluster.
func (m *managerOfStores) GetEventRecorderFor(name string) record.EventRecorder {
	return m.cluster.GetEventRecorderFor(name)
}

// GetHTTPClient returns the client of the cluster, which fails.
func (m *managerOfStores) GetHTTPClient() *http.Client { return m.cluster.GetHTTPClient() }

// A recording records events while a manager runs.
type recording struct{ *recorders }

// Start records until the context ends.
func (r recording) Start(ctx context.Context) error {
	stop, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()

	return nil
}

// NeedLeaderElection returns false: events are recorded without being the leader.
func (r recording) NeedLeaderElection() bool { return false }

// A refusing is a webhook server that does not start.
type refusing struct{ webhook.Server }

// Start returns ErrNoAdmission.
func (refusing) Start(context.Context) error { return ErrNoAdmission }
