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

// off is an address at which nothing is served.
const off = "0"

// newProcessManager returns the manager of what there is once in a process, and the lease by
// which it leads. Both are nil if there is nothing of that.
func newProcessManager(host *rest.Config, o RegisterOptions, restores *controller.RestoreDetector) (manager.Manager, *controller.Lease, error) {
	health, metrics := cmp.Or(o.HealthAddress, off), cmp.Or(o.MetricsAddress, off)
	if health == off && metrics == off && o.LeaderElection == nil {
		return nil, nil, nil
	}
	mo := ctrl.Options{HealthProbeBindAddress: health, Metrics: metricsOptions(host, metrics, o.MetricsInsecure)}
	var lease *controller.Lease
	if o.LeaderElection != nil {
		e, err := o.LeaderElection.complete(o.Name)
		if err != nil {
			return nil, nil, errors.Wrap(err, "cannot make a register context: LeaderElection")
		}
		if lease, err = e.elect(host, o.TargetNamespace, &mo, restores); err != nil {
			return nil, nil, err
		}
	}
	m, err := ctrl.NewManager(rest.CopyConfig(host), mo)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot make a manager for the process")
	}
	err = m.AddHealthzCheck("ping", healthz.Ping)
	return m, lease, errors.Wrap(err, "cannot serve probes")
}

// metricsOptions returns where, how and to whom metrics are served.
func metricsOptions(host *rest.Config, address string, insecure bool) metricsserver.Options {
	out := metricsserver.Options{BindAddress: address, SecureServing: !insecure}
	if !insecure {
		out.FilterProvider = func(*rest.Config, *http.Client) (metricsserver.Filter, error) { return guardMetrics(host) }
		// Who is not let in could keep the server busy by streams that HTTP/2 cancels.
		out.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return out
}
