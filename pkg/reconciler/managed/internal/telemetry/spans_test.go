package telemetry

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A recording is a tracer provider that remembers its spans as lines.
type recording struct {
	embedded.TracerProvider

	mu    sync.Mutex
	spans []*span
	names []string // of tracers
}

func (r *recording) Tracer(name string, _ ...trace.TracerOption) trace.Tracer {
	r.names = append(r.names, name)

	return recorder{recording: r}
}

// A recorder is a tracer; one type cannot be both.
type recorder struct {
	embedded.Tracer

	*recording
}

func (r recorder) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(o...)
	r.mu.Lock()
	defer r.mu.Unlock()
	id := byte(len(r.spans) + 1)
	s := &span{
		name: name, kind: config.SpanKind(), begun: config.Timestamp(),
		parent: trace.SpanContextFromContext(ctx).SpanID(),
		context: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{9}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled,
		}),
		attributes: config.Attributes(),
	}
	r.spans = append(r.spans, s)

	return trace.ContextWithSpan(ctx, s), s
}

type span struct {
	noop.Span // unused methods

	name       string
	kind       trace.SpanKind
	context    trace.SpanContext
	parent     trace.SpanID
	begun      time.Time
	ended      []time.Duration
	attributes []attribute.KeyValue
	errors     []error
	status     string
}

func (s *span) SpanContext() trace.SpanContext { return s.context }
func (s *span) IsRecording() bool              { return true }
func (s *span) SetAttributes(kv ...attribute.KeyValue) {
	s.attributes = append(s.attributes, kv...)
}
func (s *span) RecordError(err error, _ ...trace.EventOption) { s.errors = append(s.errors, err) }
func (s *span) SetStatus(code codes.Code, text string)        { s.status = fmt.Sprint(code, " ", text) }
func (s *span) End(o ...trace.SpanEndOption) {
	config := trace.NewSpanEndConfig(o...)
	s.ended = append(s.ended, config.Timestamp().Sub(s.begun))
}

func (s *span) String() string {
	var attributes []string
	for _, a := range s.attributes {
		attributes = append(attributes, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}

	return fmt.Sprintf("%s (%s) below %d took %v [%s] %s", s.name, s.kind, s.parent[0], s.ended,
		strings.Join(attributes, " "), s.status)
}

func traced(r *recording) func(*Options) { return func(o *Options) { o.TracerProvider = r } }

func TestSpans(t *testing.T) {
	r := &recording{}
	h := newRecorderWorld(t, traced(r))
	ctx, pass := h.Begin(t.Context(), &Object{}, made("uid-1"))
	for _, step := range []Step{Connect, Observe, Update} {
		h.wait(time.Second)
		_, call := h.Step(ctx, step)
		h.wait(2 * time.Second)
		var err error
		if step == Update {
			err = errors.New("no quota")
		}
		call.End(err)
	}
	pass.End("updating", errors.New("update failed: no quota"))
	want := []string{
		"reconcile Bucket (internal) below 0 took [9s] [kind=Bucket.storage.example.org namespace=default name=bucket " +
			"uid=uid-1 outcome=updating] Error update failed: no quota",
		"connect (client) below 1 took [2s] [kind=Bucket.storage.example.org] ",
		"observe (client) below 1 took [2s] [kind=Bucket.storage.example.org] ",
		"update (client) below 1 took [2s] [kind=Bucket.storage.example.org] Error no quota",
	}
	var got []string
	for _, s := range r.spans {
		got = append(got, s.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{tracerName}, r.names); diff != "" {
		t.Errorf("tracers: -want, +got:\n%s", diff)
	}
}

// TestNoSecretReachesASpan verifies that spans contain none of the secrets in an error.
func TestNoSecretReachesASpan(t *testing.T) {
	const canary = "hunter2canary"
	r := &recording{}
	h := newRecorderWorld(t, traced(r))
	err := errors.Wrap(fmt.Errorf("dial nats://bob:%s@nats:4222: refused, password=%s", canary, canary),
		"cannot connect")
	ctx, pass := h.Begin(t.Context(), &Object{}, made("1"))
	_, call := h.Step(ctx, Connect)
	call.End(err)
	pass.End("password="+canary, err)

	if len(r.spans) != 2 {
		t.Fatalf("%d spans, want 2", len(r.spans))
	}
	for _, s := range r.spans {
		if len(s.errors) != 1 || !strings.Contains(s.status, "refused") {
			t.Errorf("%s: errors %v, status %q", s.name, s.errors, s.status)
		}
		if text := fmt.Sprintf("%s %v %+v %#v", s, s.errors, s.errors, s.errors); strings.Contains(text, canary) {
			t.Errorf("a secret is in %s", text)
		}
	}
	for series := range h.series() {
		if strings.Contains(series, canary) {
			t.Errorf("a secret is in %s", series)
		}
	}
}

// TestASlowCallLeadsToItsTrace verifies the exemplar of a slow call in the histogram.
func TestASlowCallLeadsToItsTrace(t *testing.T) {
	h := newRecorderWorld(t, traced(&recording{}))
	_, call := h.Step(t.Context(), Observe)
	h.wait(2 * time.Second)
	call.End(nil)
	families, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var traces []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, b := range m.GetHistogram().GetBucket() {
				for _, l := range b.GetExemplar().GetLabel() {
					traces = append(traces, fmt.Sprintf("%s le %g %s=%s", f.GetName(), b.GetUpperBound(),
						l.GetName(), l.GetValue()))
				}
			}
		}
	}
	want := []string{"moorage_managed_external_step_seconds le 2.5 trace_id=09000000000000000000000000000000"}
	if diff := cmp.Diff(want, traces); diff != "" {
		t.Errorf("exemplars: -want, +got:\n%s", diff)
	}
}

func TestWithoutATracerTheContextIsKept(t *testing.T) {
	for name, o := range map[string]func(*Options){
		"None":  func(*Options) {},
		"No-op": func(o *Options) { o.TracerProvider = noop.NewTracerProvider() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newRecorderWorld(t, o)
			ctx, pass := h.Begin(t.Context(), &Object{}, made("1"))
			ctx, call := h.Step(ctx, Observe)
			if trace.SpanContextFromContext(ctx).IsValid() {
				t.Error("there is a span")
			}
			call.End(errors.New("boom"))
			pass.End("observing", errors.New("boom"))
			h.expect("counted all the same", map[string]string{
				`external_step_errors_total{kind="Bucket.storage.example.org",step="observe"}`: "1",
			})
		})
	}
}
