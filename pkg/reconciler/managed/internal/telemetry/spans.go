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

// TracerName is who makes the spans, as OpenTelemetry wants to know.
const tracerName = "github.com/moorage-dev/moorage/pkg/reconciler/managed"

func (r *Recorder) startPass(ctx context.Context, mg resource.Managed, now time.Time) (context.Context, trace.Span) {
	return r.tracer.Start(ctx, "reconcile "+r.kind.Kind, trace.WithTimestamp(now), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(
		attribute.String("kind", r.kind.GroupKind().String()),
		attribute.String("namespace", mg.GetNamespace()),
		attribute.String("name", mg.GetName()),
		attribute.String("uid", string(mg.GetUID())),
	))
}

func (r *Recorder) startStep(ctx context.Context, s Step, now time.Time) (context.Context, trace.Span) {
	return r.tracer.Start(ctx, s.String(), trace.WithTimestamp(now), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("kind", r.kind.GroupKind().String())))
}

func endPass(span trace.Span, outcome string, err error, now time.Time) {
	span.SetAttributes(attribute.String("outcome", redact.String(outcome)))
	endSpan(span, err, now)
}

// EndSpan tells an error in the words in which anybody may read it.
func endSpan(span trace.Span, err error, now time.Time) {
	if err = redact.Error(err); err != nil && span.IsRecording() {
		span.RecordError(err, trace.WithTimestamp(now))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(now))
}

// Observe a duration. The trace of a span that is kept goes with it, so that a
// slow call in a histogram leads to the object it was for.
func observe(h prometheus.Observer, value float64, span trace.Span) {
	if span != nil && span.SpanContext().IsSampled() {
		if e, ok := h.(prometheus.ExemplarObserver); ok {
			e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": span.SpanContext().TraceID().String()})

			return
		}
	}
	h.Observe(value)
}
