package reconciler

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// WithLogger is [managed.WithLogger].
func WithLogger(l logging.Logger) ReconcilerOption { return managed.WithLogger(l) }

// WithRecorder is [managed.WithRecorder].
func WithRecorder(er event.Recorder) ReconcilerOption { return managed.WithRecorder(er) }

// WithThrottledRecorder is [managed.WithThrottledRecorder].
func WithThrottledRecorder(er event.Recorder) ReconcilerOption {
	return managed.WithThrottledRecorder(er)
}

// WithKstatusConditions is [managed.WithKstatusConditions].
func WithKstatusConditions() ReconcilerOption { return managed.WithKstatusConditions() }

// WithMetricsPrefix is [managed.WithMetricsPrefix].
func WithMetricsPrefix(prefix string) ReconcilerOption { return managed.WithMetricsPrefix(prefix) }

// WithMetricsRegisterer is [managed.WithMetricsRegisterer].
func WithMetricsRegisterer(registerer prometheus.Registerer) ReconcilerOption {
	return managed.WithMetricsRegisterer(registerer)
}

// WithTracerProvider is [managed.WithTracerProvider].
func WithTracerProvider(provider trace.TracerProvider) ReconcilerOption {
	return managed.WithTracerProvider(provider)
}

// WithChangeLog is [managed.WithChangeLog].
func WithChangeLog(s changelog.Sink) ReconcilerOption { return managed.WithChangeLog(s) }

// WithProvider is [managed.WithProvider].
func WithProvider(name, version string) ReconcilerOption {
	return managed.WithProvider(name, version)
}
