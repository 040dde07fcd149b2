package managed

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// Metrics counts passes of one kind. They are registered with controller-runtime
// once per process, whichever reconciler comes first.
type metrics struct {
	passes    *prometheus.CounterVec
	terminals *prometheus.CounterVec
}

func newMetrics(of resource.ManagedKind) metrics {
	kind := prometheus.Labels{"kind": schema.GroupVersionKind(of).GroupKind().String()}

	return metrics{
		passes: counter("moorage_managed_passes_total",
			"Passes over managed resources, by kind and outcome.", "outcome").MustCurryWith(kind),
		terminals: counter("moorage_managed_terminal_errors_total",
			"Passes that ended in an error that trying again does not mend, by kind and reason.", "reason").MustCurryWith(kind),
	}
}

func counter(name, help, label string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"kind", label})
	var taken prometheus.AlreadyRegisteredError
	if err := ctrlmetrics.Registry.Register(c); errors.As(err, &taken) {
		if existing, ok := taken.ExistingCollector.(*prometheus.CounterVec); ok {
			return existing
		}
	}

	return c
}

func (m metrics) pass(outcome string) { m.passes.WithLabelValues(outcome).Inc() }

func (m metrics) terminal(reason string) { m.terminals.WithLabelValues(reason).Inc() }
