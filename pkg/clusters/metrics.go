package clusters

import (
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Uncount takes the requests to a server out of what controller-runtime counts for all
// clients of a program. It keeps a number for every server there ever was; where clusters
// come and go that has no end.
func uncount(server string) {
	at, err := url.Parse(server)
	if err != nil || at.Host == "" {
		return
	}
	// The counter can only be had from whoever says that there is one already.
	twin := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total",
		Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"})
	err = ctrlmetrics.Registry.Register(twin)
	var registered prometheus.AlreadyRegisteredError
	switch {
	case err == nil:
		ctrlmetrics.Registry.Unregister(twin)
	case errors.As(err, &registered):
		if counter, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			counter.DeletePartialMatch(prometheus.Labels{"host": at.Host})
		}
	}
}
