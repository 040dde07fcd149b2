package managed_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestALifeIsMeasured verifies that a lifecycle is counted and timed under the metric names of crossplane.
func TestALifeIsMeasured(t *testing.T) {
	registry := prometheus.NewRegistry()
	g := newGallery(t, managed.WithMetricsRegisterer(registry), managed.WithMetricsPrefix("crossplane"),
		managed.WithCreationGracePeriod(0))
	g.create(secretNamed("login"))
	g.pass()
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
	g.pass()
	d := g.cloud.Disks()[0]
	d.SizeGiB = 9 // another writer
	g.cloud.Put(d)
	g.pass()
	g.cloud.Before = failing("Observe", external.Terminal("Quota", errors.New("no more")))
	g.pass()
	g.cloud.Before = nil
	g.pass()
	if got := metric(t, registry, "crossplane_managed_resource_ready"); got != 1 {
		t.Errorf("%v are ready", got)
	}
	g.delete()
	g.pass()
	if !g.gone() {
		t.Fatal("not gone")
	}

	want := map[string]float64{
		"crossplane_managed_resource_first_time_to_reconcile_seconds": 1,
		"crossplane_managed_resource_first_time_to_readiness_seconds": 1,
		"crossplane_managed_resource_deletion_seconds":                1,
		"crossplane_managed_resource_drift_seconds":                   1,
		"crossplane_managed_resource_exists":                          0,
		"crossplane_managed_resource_ready":                           0,
		"crossplane_managed_resource_synced":                          0,
		"crossplane_managed_passes_total outcome=kept":                4,
		"crossplane_managed_passes_total outcome=observe-failed":      1,
		"crossplane_managed_passes_total outcome=finalized":           1,
		"crossplane_managed_terminal_errors_total reason=Quota":       1,
		"crossplane_managed_external_step_seconds step=create":        1,
		"crossplane_managed_external_step_seconds step=observe":       10,
		"crossplane_managed_external_step_errors_total step=observe":  1,
		"crossplane_managed_writes_total changed=true what=intent":    1,
		"crossplane_managed_writes_total changed=true what=result":    1,
		"crossplane_managed_writes_total changed=true what=secret":    1,
		"crossplane_managed_writes_total changed=true what=finalizer": 1,
		"crossplane_managed_writes_total changed=false what=status":   0,
		"crossplane_managed_passes_in_flight":                         0,
	}
	got := map[string]float64{}
	for name := range want {
		got[name] = metric(t, registry, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// metric returns the sum of a metric, given as "name label=value ...", over all
// other labels: the value of a counter or gauge, and the count of a histogram.
func metric(t *testing.T, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	name, labels, _ := strings.Cut(name, " ")
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetName()+"="+l.GetValue())
			}
			lacks := func(l string) bool { return !slices.Contains(have, l) }
			if family.GetName() == name && !slices.ContainsFunc(strings.Fields(labels), lacks) {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue() +
					float64(m.GetHistogram().GetSampleCount())
			}
		}
	}

	return total
}

// TestAPassIsTraced verifies that a pass is a span with one child per call, without secrets.
func TestAPassIsTraced(t *testing.T) {
	secret := "hunter2-but-longer"
	spans := &spans{}
	var g gallery
	g = newGallery(t, managed.WithTracerProvider(spans),
		managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
			ConnectFn: func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
				return g.cloud.Connect(ctx, mg)
			},
			DisconnectFn: func(context.Context) error { return nil },
		}))
	g.create(nil)
	g.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
		if call == "Connect" {
			external.Conceal(ctx, []byte(secret))
		}
		if call == "Create" {
			return errors.Errorf("refused with %s", base64.StdEncoding.EncodeToString([]byte("user:"+secret)))
		}

		return nil
	}
	if _, err := g.try(); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
	want := []string{"prepare < reconcile Snapshot", "connect < reconcile Snapshot", "observe < reconcile Snapshot",
		"create < reconcile Snapshot: Error", "disconnect < reconcile Snapshot", "reconcile Snapshot: Error"}
	if diff := cmp.Diff(want, spans.ended); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range spans.texts {
		if strings.Contains(text, secret) ||
			strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))[4:16]) {
			t.Errorf("a secret reached a span: %s", text)
		}
	}
}

// Spans is a TracerProvider that notes what ends.
type spans struct {
	embedded.TracerProvider

	mu    sync.Mutex
	ended []string
	texts []string
}

func (s *spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return &tracer{spans: s} }

type tracer struct {
	embedded.Tracer

	spans *spans
}

func (t *tracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	begun := &span{spans: t.spans, name: name}
	if parent, ok := trace.SpanFromContext(ctx).(*span); ok {
		begun.name += " < " + parent.name
	}

	return trace.ContextWithSpan(ctx, begun), begun
}

type span struct {
	noop.Span

	spans *spans
	name  string
	code  codes.Code
}

func (s *span) IsRecording() bool { return true }

func (s *span) SetStatus(code codes.Code, text string) {
	s.code = code
	s.note(text)
}

func (s *span) SetAttributes(kv ...attribute.KeyValue) { s.note(fmt.Sprint(kv)) }

func (s *span) RecordError(err error, _ ...trace.EventOption) { s.note(err.Error()) }

func (s *span) AddEvent(name string, _ ...trace.EventOption) { s.note(name) }

func (s *span) End(...trace.SpanEndOption) {
	s.spans.mu.Lock()
	defer s.spans.mu.Unlock()
	name := s.name
	if s.code == codes.Error {
		name += ": Error"
	}
	s.spans.ended = append(s.spans.ended, name)
}

func (s *span) note(text string) {
	s.spans.mu.Lock()
	defer s.spans.mu.Unlock()
	s.spans.texts = append(s.spans.texts, text)
}
