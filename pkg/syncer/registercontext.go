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

// RegisterOptions say which clusters a RegisterContext is about. Virtual and Name are
// required; outside of a pod Physical and TargetNamespace as well.
type RegisterOptions struct {
	// Virtual is how to reach the virtual cluster.
	Virtual *rest.Config

	// Physical is how to reach the host. Default: as a pod reaches the cluster that it
	// runs in.
	Physical *rest.Config

	// Scheme knows the kinds that are synced. Default: those of client-go.
	Scheme *runtime.Scheme

	// Name of the virtual cluster, a DNS label: the suffix of host names. Two virtual
	// clusters that share a target namespace need different ones.
	Name string

	// TargetNamespace is where on the host the objects are. The host's cache holds
	// no other namespace. Default, without Physical: that of the pod.
	TargetNamespace string

	// CurrentNamespace is where on the host the process itself runs. Default:
	// TargetNamespace, or without Physical that of the pod.
	CurrentNamespace string

	// ServiceName is a service in the current namespace that stands for the virtual
	// cluster. Default: "", which is none.
	ServiceName string

	// SetOwner makes that service the owner of host objects, so that they go with
	// it. It is read again before a host object is created, at most once a second: one that
	// was recreated owns what is created from then on. While there is none, nothing is.
	SetOwner bool

	// LeaderElection lets several processes wait for one that syncs. Default: nil, which
	// is none: there must be one process alone then. It is not the default because it
	// costs a request every two seconds and a permission.
	LeaderElection *LeaderElection

	// HealthAddress is where /healthz and /readyz are served, such as ":8081". Default:
	// "", which is nowhere, as "0" is: a port is opened only by a program that names it.
	HealthAddress string

	// MetricsAddress is where /metrics of the process are served, such as ":8443".
	// Default: "", which is nowhere, as "0" is.
	MetricsAddress string

	// MetricsInsecure serves metrics without TLS, to everybody. Default: false, which is
	// with TLS, by a certificate that is made at every start, and to those alone whom the
	// host's API server lets get /metrics.
	MetricsInsecure bool
}

func (o RegisterOptions) currentNamespace() string {
	return cmp.Or(o.CurrentNamespace, o.TargetNamespace)
}

// NewRegisterContext returns the context of a process with two managers that are
// not started yet; a Runner starts them. It asks the virtual cluster who it is, so
// that no other one is taken for it later, see Guard, and the host for the owner.
// Logs go to controller-runtime's logger. Probes, metrics and a leader election are a
// third manager, if the options name one of them.
//
// Once the API server of the host was restored to an earlier state, its manager ends,
// and with it the Runner, with an error that is a controller.ErrRestored: the next
// process lists everything anew. If it is that of the virtual cluster, the runner goes
// on, and lists anew what it has in the caches of that alone.
func NewRegisterContext(ctx context.Context, o RegisterOptions) (*synccontext.RegisterContext, error) {
	o, err := o.complete(thisPod)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a register context")
	}
	guarded, uid, err := Guard(ctx, o.Virtual)
	if err != nil {
		return nil, err
	}
	names := &translate.Names{Suffix: o.Name, Cluster: string(uid)}
	owner, err := newOwner(ctx, o.Physical, o)
	if err != nil {
		return nil, err
	}
	log := logging.NewLogrLogger(ctrllog.Log.WithName("syncer"))
	restores := controller.NewRestoreDetector(controller.WithRestoreLogger(log))
	process, lease, err := newProcessManager(o.Physical, o, restores)
	if err != nil {
		return nil, err
	}
	host := fenced(o.Physical, lease)
	clusters.OnRestored(host, func(r clusters.Restore) { restores.Seen(r.Of(), r.Known, r.Answered) })
	p, err := newManager(host, o.Scheme, cache.Options{DefaultNamespaces: map[string]cache.Config{o.TargetNamespace: {}}})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a manager for the physical cluster")
	}
	if err := p.Add(restores); err != nil {
		return nil, errors.Wrap(err, "cannot watch for a restore of the physical cluster")
	}
	v, err := newManager(fenced(guarded, lease), o.Scheme, cache.Options{})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a manager for the virtual cluster")
	}
	current := p.GetClient()
	if o.currentNamespace() != o.TargetNamespace {
		// That namespace is not in the cache.
		if current, err = client.New(fenced(o.Physical, lease), client.Options{Scheme: o.Scheme}); err != nil {
			return nil, errors.Wrap(err, "cannot make a client for the current namespace")
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
	owner.tell(reg)
	return reg, nil
}

func newManager(c *rest.Config, scheme *runtime.Scheme, objects cache.Options) (manager.Manager, error) {
	return ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Cache: objects, Metrics: metricsserver.Options{BindAddress: "0"},
		// Passes read caches, of objects without a Go type as well.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		// Two virtual clusters in one process have controllers of the same names.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
}
