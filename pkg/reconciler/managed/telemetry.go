package managed

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// WithMetricsPrefix sets the prefix of all metric names. The default is "moorage". With "crossplane", each metric that
// crossplane also has gets the name that it has in crossplane. So dashboards for crossplane continue to work. These
// metrics are the times to the first reconcile, to readiness, of deletion and of drift, and the numbers of existing,
// ready and synced objects.
func WithMetricsPrefix(prefix string) ReconcilerOption {
	return func(r *Reconciler) { r.observability.Prefix = prefix }
}

// WithMetricsRegisterer sets the registry of the metrics. The default is the registry of controller-runtime, which a
// manager serves.
func WithMetricsRegisterer(registerer prometheus.Registerer) ReconcilerOption {
	return func(r *Reconciler) { r.observability.Registerer = registerer }
}

// WithTracerProvider makes a span for each pass, and a span for each external call in it. Spans contain no secrets.
// By default there are no spans. otel.GetTracerProvider returns the global provider of the program.
func WithTracerProvider(provider trace.TracerProvider) ReconcilerOption {
	return func(r *Reconciler) { r.observability.TracerProvider = provider }
}

// newTelemetry makes the recorder of metrics and spans. Metrics whose names are already registered are not served.
// Everything else works nevertheless.
func (r *Reconciler) newTelemetry() *telemetry.Recorder {
	r.observability.Clock = r.clock
	r.observability.Outcomes = outcomeNames()
	r.observability.Classes = make([]string, len(failureClasses))
	for i, c := range failureClasses {
		r.observability.Classes[i] = c.name
	}
	recorder, err := telemetry.New(schema.GroupVersionKind(r.of), r.observability)
	if err != nil {
		r.log.Info("Some metrics are not served", "error", err)
	}

	return recorder
}

// instrumentGuarded makes a call that gets the object, and restores metadata that the call removes.
func (p *clientSession) instrumentGuarded(ctx context.Context, step telemetry.Step,
	call func(context.Context) error) error {
	defer p.restoreProtected(p.protectedMetadata())

	return p.instrument(ctx, step, call)
}

func (p *clientSession) restoreProtected(b protectedMetadata) {
	if b.restore(p.mg) {
		p.log().Debug("A call took annotations or finalizers away, or changed marks: that is undone, it may only add " +
			"annotations")
	}
}

// instrument makes an external call, and counts, times and traces it. If the call panics, or the text of its error
// panics, the result is an error. After a Create such an error leaves the result unknown.
func (p *clientSession) instrument(ctx context.Context, step telemetry.Step, call func(context.Context) error) error {
	ctx, made := p.r.telemetry.Step(ctx, step)
	err := p.guarded(step.String(), func() error { return call(ctx) })
	made.End(p.redact(err))
	if telemetry.Observe <= step && step <= telemetry.Delete {
		p.markTouched()
	}

	return err
}

// guarded calls a method of a client, or a function of an option. A panic is an error of the call, and a call that
// does not return is reported (see [calls]).
func (p *journal) guarded(what string, call func() error) error {
	outer := p.r.calls.begin(p, what)
	err := panics.Readable(panics.Call(call))
	p.r.calls.end(p, outer)
	if err != nil {
		p.logPanic(what, err)
	}

	return err
}

func (p *journal) logPanic(what string, err error) {
	var panicked *panics.Error
	if errors.As(err, &panicked) {
		p.log().Info("A client panicked", "step", what, "error", p.redact(err), "stack",
			p.mask().String(string(panicked.Stack)))
	}
}

// compare records in the metrics how the observation differs from the object.
func (p *clientSession) compare(o ExternalObservation) {
	finding := telemetry.Differs
	switch {
	case !o.ResourceExists:
		finding = telemetry.Missing
	case o.ResourceUpToDate:
		finding = telemetry.Same
	}
	if p.mutated && finding != telemetry.Same { // an incomplete change of our own is no drift
		return
	}
	if p.r.telemetry.Compared(&p.state.counted, p.read, finding) {
		p.differences = &differences{drifted: true}
	}
}

// recordDeleted records in the metrics that the object was deleted.
func (p *clientSession) recordDeleted() {
	if meta.WasDeleted(p.mg) {
		p.r.telemetry.Deleted(&p.state.counted, p.mg)
	}
}
