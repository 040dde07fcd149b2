package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// tracerName is the name of the tracer.
const tracerName = "github.com/moorage-dev/moorage/pkg/reconciler/managed"

// spanOptions are the options of all spans of a Recorder: each pass has several.
type spanOptions struct {
	kind                     attribute.KeyValue
	ofKind, internal, client trace.SpanStartOption
}

func newSpanOptions(kind string) spanOptions {
	of := attribute.String("kind", kind)

	return spanOptions{
		kind: of, ofKind: trace.WithAttributes(of),
		internal: trace.WithSpanKind(trace.SpanKindInternal), client: trace.WithSpanKind(trace.SpanKindClient),
	}
}

func (r *Recorder) startPass(ctx context.Context, mg resource.Managed, now time.Time) (context.Context, trace.Span) {
	return r.tracer.Start(ctx, "reconcile "+r.kind.Kind, trace.WithTimestamp(now), r.spans.internal,
		trace.WithAttributes(
			r.spans.kind,
			attribute.String("namespace", mg.GetNamespace()),
			attribute.String("name", mg.GetName()),
			attribute.String("uid", string(mg.GetUID())),
		))
}

func (r *Recorder) startStep(ctx context.Context, s Step, now time.Time) (context.Context, trace.Span) {
	return r.tracer.Start(ctx, s.String(), trace.WithTimestamp(now), r.spans.client, r.spans.ofKind)
}

func endPass(span trace.Span, outcome string, err error, now time.Time) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String("outcome", redact.String(outcome)))
	}
	endSpan(span, err, now)
}

// endSpan records an error in a span by its public text, and ends the span.
func endSpan(span trace.Span, err error, now time.Time) {
	if !span.IsRecording() {
		span.End()

		return
	}
	if err = redact.Error(err); err != nil {
		span.RecordError(err, trace.WithTimestamp(now))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(now))
}

// observe observes a duration. The trace of a sampled span becomes its exemplar, so that a slow call in a histogram
// leads to its object.
func observe(h prometheus.Observer, value float64, span trace.Span) {
	if span != nil && span.SpanContext().IsSampled() {
		if e, ok := h.(prometheus.ExemplarObserver); ok {
			e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": span.SpanContext().TraceID().String()})

			return
		}
	}
	h.Observe(value)
}
