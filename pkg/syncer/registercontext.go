package syncer

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// RegisterOptions are the options of NewRegisterContext. Virtual and Name are required. Outside of
// a pod, Physical and TargetNamespace are required as well.
type RegisterOptions struct {
	// Virtual is the client configuration of the virtual cluster.
	Virtual *rest.Config

	// Physical is the client configuration of the host. Default: the in-cluster
	// configuration of the pod.
	Physical *rest.Config

	// Scheme contains the synchronized kinds. Default: the scheme of client-go.
	Scheme *runtime.Scheme

	// Name is the name of the virtual cluster, a DNS label. The name is also the suffix of host names. Virtual clusters
	// that share a target namespace need different names.
	Name string

	// TargetNamespace is the namespace of the host objects. The cache of the host contains only this
	// namespace. Default, if Physical is nil: the namespace of the pod.
	TargetNamespace string

	// CurrentNamespace is the namespace on the host in which the process runs. Default: the namespace
	// of the pod if Physical is nil, otherwise TargetNamespace.
	CurrentNamespace string

	// ServiceName is the service of the virtual cluster in the current namespace.
	// Default: "", no service.
	ServiceName string

	// SetOwner makes the service ServiceName the owner of host objects, so that host objects are garbage collected with
	// the service. Before a host object is created, the service is read again, at most once a second. The reason is that a
	// recreated service has another UID. While the service does not exist, no host object is created.
	SetOwner bool

	// LeaderElection enables leader election, so that one of several processes syncs. The election costs a request every
	// two seconds and needs permissions for leases: see LeaderElection. Default: nil, which means no election. Without an
	// election only one process may run.
	LeaderElection *LeaderElection

	// HealthAddress is the bind address of /healthz and /readyz, such as ":8081". "" and "0" open no
	// port. Default: "".
	HealthAddress string

	// MetricsAddress is the bind address of /metrics, such as ":8443". "" and "0" open no port.
	// Default: "".
	MetricsAddress string

	// MetricsInsecure serves metrics without TLS and authorization. If MetricsInsecure is false, metrics are served over
	// TLS, with a self-signed certificate that is generated at every start. In this case a client can read metrics only if
	// the host's API server allows the client to get /metrics. Default: false.
	MetricsInsecure bool
}

// currentNamespace returns the namespace of the process on the host.
func (o RegisterOptions) currentNamespace() string {
	return cmp.Or(o.CurrentNamespace, o.TargetNamespace)
}

// NewRegisterContext returns the context of a process with managers for both clusters. A Runner
// starts these managers. If the options enable probes, metrics or leader election, the context has
// a third manager for them. Logs go to controller-runtime's logger.
//
// NewRegisterContext reads the identity of the virtual cluster, so that another cluster at its address is detected
// later (see Guard). If the options name an owner of host objects, NewRegisterContext reads this owner from the host.
//
// If the API server of the host is restored to an earlier state, the manager of the host and the
// Runner end with an error that wraps controller.ErrRestored. The next process lists everything
// again. If the API server of the virtual cluster is restored, the Runner continues, and only the
// caches of the virtual cluster list everything again.
func NewRegisterContext(ctx context.Context, o RegisterOptions) (*synccontext.RegisterContext, error) {
	o, err := o.complete(inClusterEnvironment)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a register context")
	}
	guarded, uid, err := Guard(ctx, o.Virtual)
	if err != nil {
		return nil, err
	}
	names := &translate.Names{Suffix: o.Name, Cluster: string(uid)}
	owner, err := newOwnerService(ctx, o.Physical, o)
	if err != nil {
		return nil, err
	}
	log := logging.NewLogrLogger(ctrllog.Log.WithName("syncer"))
	restores := controller.NewRestoreDetector(controller.WithRestoreLogger(log))
	process, lease, err := newProcessManager(o.Physical, o, restores)
	if err != nil {
		return nil, err
	}
	host := withFence(o.Physical, lease)
	clusters.OnRestored(host, func(r clusters.Restore) { restores.Seen(r.Of(), r.Known, r.Answered) })
	p, err := newManager(host, o.Scheme, cache.Options{DefaultNamespaces: map[string]cache.Config{o.TargetNamespace: {}}})
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a manager for the physical cluster")
	}
	if err := p.Add(restores); err != nil {
		return nil, errors.Wrap(err, "cannot watch for a restore of the physical cluster")
	}
	v, err := newManager(withFence(guarded, lease), o.Scheme, cache.Options{})
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a manager for the virtual cluster")
	}
	current := p.GetClient()
	if o.currentNamespace() != o.TargetNamespace {
		// The cache does not contain that namespace.
		if current, err = client.New(withFence(o.Physical, lease), client.Options{Scheme: o.Scheme}); err != nil {
			return nil, errors.Wrap(err, "cannot create a client for the current namespace")
		}
	}
	reg := &synccontext.RegisterContext{
		Context: ctx,
		Options: &synccontext.VirtualClusterOptions{
			Name: o.Name, ServiceName: o.ServiceName, TargetNamespace: o.TargetNamespace, SetOwner: o.SetOwner,
		},
		TargetNamespace: o.TargetNamespace, CurrentNamespace: o.currentNamespace(), CurrentNamespaceClient: current,
		VirtualManager: v, PhysicalManager: p, ProcessManager: process, Names: names,
	}
	owner.setIn(reg)
	return reg, nil
}

// newManager returns a manager of one cluster without probes, metrics and leader
// election.
func newManager(c *rest.Config, scheme *runtime.Scheme, objects cache.Options) (manager.Manager, error) {
	return ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Cache: objects, Metrics: metricsserver.Options{BindAddress: "0"},
		// Passes read from caches, unstructured objects as well.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		// Two virtual clusters in one process have controllers with the same names.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
}
