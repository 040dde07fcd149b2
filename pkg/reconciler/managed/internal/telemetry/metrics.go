package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// metrics are the metrics of one kind.
type metrics struct {
	objects objectMetrics

	passes       *bounded
	passSeconds  prometheus.Observer
	inFlight     prometheus.Gauge
	steps        [len(stepNames)]stepMetrics
	abandoned    prometheus.Counter
	overdue      prometheus.Counter
	untold       prometheus.Counter
	writes       [len(writeNames)]writeMetrics
	drifts       map[Finding]prometheus.Counter
	terminals    *bounded
	failures     *bounded
	listed       [len(listingNames)]prometheus.Counter
	notified     [len(notificationNames)]prometheus.Counter
	watches      [2]prometheus.Gauge // healthy, and not
	limitWaiting [len(priorityNames)]prometheus.Counter
}

// objectMetrics are the metrics about the objects of a kind. They have the names and the labels (group, version and
// kind) of crossplane's metrics. All other metrics have the labels group and kind.
type objectMetrics struct {
	toReconcile, toReadiness, deletion, drift prometheus.Observer
	exists, ready, synced                     prometheus.Gauge
}

type stepMetrics struct {
	seconds prometheus.Observer
	errors  prometheus.Counter
}

type writeMetrics struct{ changed, unchanged prometheus.Counter }

// Buckets, in seconds.
var (
	// of calls and passes: from a cached answer to the timeout of a pass
	callBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	// of the time until the first reconcile: from nothing to minutes
	waitBuckets = []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}
	// of operations of external systems
	lifeBuckets = []float64{1, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600}
	// of the time between two observations: poll intervals, up to days
	driftBuckets = []float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 12 * 3600, 24 * 3600}
)

// metricsCache is a Registerer that caches metrics. Making metrics takes longer than a pass, which matters to tests
// that make thousands of reconcilers.
type metricsCache interface {
	Keep(name string, make func() any) any
}

// registered has metrics, and the error about metrics that are not served.
type registered struct {
	metrics *metrics
	err     error
}

func newMetrics(kind schema.GroupVersionKind, o Options) (*metrics, error) {
	k, keeps := o.Registerer.(metricsCache)
	if !keeps {
		return makeMetrics(kind, o)
	}
	kept := k.Keep(o.Prefix+" "+kind.String(), func() any {
		m, err := makeMetrics(kind, o)

		return registered{m, err}
	})
	m, _ := kept.(registered) // no other value has that name

	return m.metrics, m.err
}

func makeMetrics(kind schema.GroupVersionKind, o Options) (*metrics, error) {
	s := &registry{prefix: o.Prefix + "_managed_", to: o.Registerer}
	name := kind.GroupKind().String()
	m := &metrics{
		objects: newObjectMetrics(s, kind.String()),
		passes: newBounded(s.counter("passes_total", "Passes, by kind and outcome.", "kind", "outcome"), name,
			o.Outcomes...),
		passSeconds: s.histogram("pass_seconds",
			"Time that passes took, by kind.", callBuckets, "kind").WithLabelValues(name),
		inFlight: s.gauge("passes_in_flight", "Passes that have begun and not ended, by kind.",
			"kind").WithLabelValues(name),
		terminals: newBounded(s.counter("terminal_errors_total",
			"Passes that ended in an error that trying again does not mend, by kind and reason.", "kind", "reason"),
			name),
		failures: newBounded(s.counter("failures_total",
			"Passes that did not do what they had to, by kind and class of the failure.", "kind", "class"), name,
			o.Classes...),
		abandoned: s.counter("abandoned_attempts_total",
			"Attempts to create that users gave up without knowing what they led to, by kind.",
			"kind").WithLabelValues(name),
		untold: s.counter("untold_create_errors_total",
			"Errors of Create that did not say whether anything was created, and were taken for a failure, by kind.",
			"kind").WithLabelValues(name),
		overdue: s.counter("overdue_calls_total",
			"Calls that did not return although their time was over, by kind.", "kind").WithLabelValues(name),
		drifts: map[Finding]prometheus.Counter{},
	}
	m.addSteps(s, name)
	m.shared(s, name)
	s.gauge("kind_info", "Always 1: the label gvk of a kind beside its label kind, to join metrics that have one of "+
		"them.", "gvk", "kind").WithLabelValues(kind.String(), name).Set(1)

	return m, utilerrors.NewAggregate(s.refused)
}

// newObjectMetrics makes the metrics of objects.
func newObjectMetrics(s *registry, gvk string) objectMetrics {
	return objectMetrics{
		toReconcile: s.histogram("resource_first_time_to_reconcile_seconds",
			"Time from the creation of an object to its first pass.", waitBuckets, "gvk").WithLabelValues(gvk),
		toReadiness: s.histogram("resource_first_time_to_readiness_seconds",
			"Time from the creation of an object to when it was ready for the first time.", lifeBuckets,
			"gvk").WithLabelValues(gvk),
		deletion: s.histogram("resource_deletion_seconds",
			"Time from the deletion of an object to the removal of its finalizer.", lifeBuckets,
			"gvk").WithLabelValues(gvk),
		drift: s.histogram("resource_drift_seconds",
			"Time from when an external resource was last seen as desired to when it was found changed by others.",
			driftBuckets, "gvk").WithLabelValues(gvk),
		exists: s.gauge("resource_exists", "Objects that this process looks after.", "gvk").WithLabelValues(gvk),
		ready:  s.gauge("resource_ready", "Those of them that are ready.", "gvk").WithLabelValues(gvk),
		synced: s.gauge("resource_synced", "Those of them that are synced.", "gvk").WithLabelValues(gvk),
	}
}

// addSteps makes the metrics of external calls, of writes and of drifts.
func (m *metrics) addSteps(s *registry, name string) {
	took := s.histogram("external_step_seconds", "Time that calls to the external system took, by kind and step.",
		callBuckets, "kind", "step")
	failed := s.counter("external_step_errors_total", "Calls to the external system that failed, by kind and step.",
		"kind", "step")
	for i, step := range stepNames {
		m.steps[i] = stepMetrics{took.WithLabelValues(name, step), failed.WithLabelValues(name, step)}
	}
	writes := s.counter("writes_total", "Writes that the API server answered, by kind, by what for, and by whether "+
		"they changed anything.", "kind", "what", "changed")
	for i, what := range writeNames {
		m.writes[i] = writeMetrics{writes.WithLabelValues(name, what, "true"),
			writes.WithLabelValues(name, what, "false")}
	}
	drifts := s.counter("drifts_total", "External resources that others have changed or removed, by kind.", "kind",
		"what")
	for finding, what := range driftNames {
		m.drifts[finding] = drifts.WithLabelValues(name, what)
	}
}

// A registry registers metrics, or returns the metrics that are already registered under the same name.
type registry struct {
	prefix  string
	to      prometheus.Registerer
	refused []error
}

func (s *registry) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return put(s, name, func(name string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	})
}

// shared makes the metrics that objects of a connection share.
func (m *metrics) shared(s *registry, kind string) {
	listed := s.counter("listed_total", "Polls that a shared list was to serve, by kind and by what it said of the "+
		"object.", "kind", "said")
	for i, said := range listingNames {
		m.listed[i] = listed.WithLabelValues(kind, said)
	}
	notified := s.counter("external_notifications_total", "Names whose change an external system reported, by kind "+
		"and by what became of it.", "kind", "result")
	for i, result := range notificationNames {
		m.notified[i] = notified.WithLabelValues(kind, result)
	}
	waiting := s.counter("limit_wait_seconds_total", "Seconds that passes waited for the rate limit of their connection, "+
		"by kind and by the priority of the pass.", "kind", "priority")
	for i, priority := range priorityNames {
		m.limitWaiting[i] = waiting.WithLabelValues(kind, priority)
	}
	watches := s.gauge("watched_connections",
		"Connections by kind, and by whether changes of their resources are reported.", "kind", "healthy")
	m.watches = [2]prometheus.Gauge{watches.WithLabelValues(kind, "true"), watches.WithLabelValues(kind, "false")}
}

func (s *registry) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return put(s, name, func(name string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	})
}

func (s *registry) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return put(s, name, func(name string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	})
}

func put[C prometheus.Collector](s *registry, name string, make func(name string) C) C {
	c := make(s.prefix + name)
	err := s.to.Register(c)
	var taken prometheus.AlreadyRegisteredError
	if errors.As(err, &taken) {
		if existing, ok := taken.ExistingCollector.(C); ok {
			return existing
		}
	}
	if err != nil {
		s.refused = append(s.refused, errors.Wrapf(err, "cannot register metric %s%s", s.prefix, name))
	}

	return c
}
