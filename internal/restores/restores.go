// Package restores counts how often a process has detected that an API server was restored to
// an earlier state.
package restores

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Counter returns the counter of the process.
func Counter() prometheus.Counter {
	counter := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "moorage_apiserver_restores_total",
		Help: "Restores of API servers to an earlier state that this process has noticed.",
	})
	var registered prometheus.AlreadyRegisteredError
	if err := ctrlmetrics.Registry.Register(counter); errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(prometheus.Counter); ok {
			return existing
		}
	}

	return counter
}
