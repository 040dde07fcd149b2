// Package restores tells by two versions that an API server was restored to an earlier
// state, and counts how often a process has noticed that.
package restores

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// WentBack says whether an API server that has told the version known answers with a lower
// one now. Versions that cannot be compared say nothing.
func WentBack(known, answered string) bool {
	order, err := resourceversion.CompareResourceVersion(answered, known)

	return err == nil && order < 0
}

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
