package syncer

import (
	"cmp"
	"crypto/tls"
	"net/http"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// addressDisabled is the bind address that disables a server.
const addressDisabled = "0"

// newProcessManager returns the manager for probes, metrics and leader election, and the lease of
// the election. The manager is nil if the options enable none of these. The lease is nil without
// leader election.
func newProcessManager(
	host *rest.Config, o RegisterOptions, restores *controller.RestoreDetector,
) (manager.Manager, *controller.Lease, error) {
	health, metrics := cmp.Or(o.HealthAddress, addressDisabled), cmp.Or(o.MetricsAddress, addressDisabled)
	if health == addressDisabled && metrics == addressDisabled && o.LeaderElection == nil {
		return nil, nil, nil
	}
	mo := ctrl.Options{HealthProbeBindAddress: health, Metrics: metricsOptions(host, metrics, o.MetricsInsecure)}
	var lease *controller.Lease
	if o.LeaderElection != nil {
		e, err := o.LeaderElection.complete(o.Name)
		if err != nil {
			return nil, nil, errors.Wrap(err, "cannot create a register context: LeaderElection")
		}
		if lease, err = e.configure(host, o.TargetNamespace, &mo, restores); err != nil {
			return nil, nil, err
		}
	}
	m, err := ctrl.NewManager(rest.CopyConfig(host), mo)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot create a manager for the process")
	}
	err = m.AddHealthzCheck("ping", healthz.Ping)
	return m, lease, errors.Wrap(err, "cannot serve probes")
}

// metricsOptions returns the options of the metrics server. Unless insecure is true, they enable
// TLS and authorization.
func metricsOptions(host *rest.Config, address string, insecure bool) metricsserver.Options {
	out := metricsserver.Options{BindAddress: address, SecureServing: !insecure}
	if !insecure {
		out.FilterProvider = func(*rest.Config, *http.Client) (metricsserver.Filter, error) { return newMetricsFilter(host) }
		// An unauthorized client could overload the server with cancelled HTTP/2 streams
		// (rapid reset).
		out.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return out
}
