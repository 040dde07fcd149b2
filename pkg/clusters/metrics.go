package clusters

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A hostMetrics tracks the series of controller-runtime's request counter. This counter has series for all clients of
// the process, so without a hostMetrics the number of series would grow with each new cluster. The optional histograms
// by server still grow. The registry of the counter has one hostMetrics, because all Clusters of a server share its
// series. A hostMetrics has no metrics of its own. It may be used concurrently.
type hostMetrics struct {
	mu    sync.Mutex
	hosts map[string]*hostUse // whose series can be deleted
}

// requestMetrics returns the hostMetrics of controller-runtime's registry. The first call adds it. The result is nil if
// the registry refuses it.
func requestMetrics() *hostMetrics {
	t := &hostMetrics{hosts: map[string]*hostUse{}}
	err := ctrlmetrics.Registry.Register(t)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		t, _ = registered.ExistingCollector.(*hostMetrics)
	} else if err != nil {
		t = nil
	}

	return t
}

// hostsName is the name that the registry knows a hostMetrics by. No series has it.
const hostsName = "never_exposed_hosts_of_open_clusters"

// Describe sends the description by which the registry finds the hostMetrics again.
func (t *hostMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- prometheus.NewDesc(hostsName, "Without series: the servers of open Clusters.", nil, nil)
}

// Collect sends nothing.
func (t *hostMetrics) Collect(chan<- prometheus.Metric) {}

// A hostUse is the state of a server that has open Clusters.
type hostUse struct {
	clusters int
	shared   bool // it had series before the first of them, so another client uses it, too
}

// acquire adds a Cluster of a server. The first call of release removes it. When the last Cluster is removed, the
// series of the server are deleted, unless other clients use the server. A nil hostMetrics deletes none.
func (t *hostMetrics) acquire(config *rest.Config) (release func()) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil || t == nil {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.hosts[server.Host]
	if u == nil {
		u = &hostUse{shared: hasMetrics(server.Host)}
		t.hosts[server.Host] = u
	}
	u.clusters++

	return sync.OnceFunc(func() { t.release(server.Host, u) })
}

// release removes a Cluster of a server.
func (t *hostMetrics) release(host string, u *hostUse) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.clusters--; u.clusters > 0 {
		return
	}
	delete(t.hosts, host)
	if counter := requestCounter(); counter != nil && !u.shared {
		counter.DeletePartialMatch(prometheus.Labels{"host": host})
	}
}

// requestCounter returns the request counter of controller-runtime, or nil. controller-runtime does not export it, but
// the registry returns it in the error of a second registration.
func requestCounter() *prometheus.CounterVec {
	duplicate := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total",
		Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"})
	err := ctrlmetrics.Registry.Register(duplicate)
	var registered prometheus.AlreadyRegisteredError
	switch {
	case err == nil:
		ctrlmetrics.Registry.Unregister(duplicate)
	case errors.As(err, &registered):
		if counter, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			return counter
		}
	}

	return nil
}

// hasMetrics reports whether the counter has series of a server.
func hasMetrics(host string) bool {
	counter := requestCounter()
	if counter == nil {
		return false
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(counter); err != nil {
		return true
	}
	families, err := registry.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "host" && l.GetValue() == host {
					return true
				}
			}
		}
	}

	return err != nil // unknown: the series are kept
}
