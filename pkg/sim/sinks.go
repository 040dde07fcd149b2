package sim

import (
	"context"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracers takes the spans of a provider to its witness.
type tracers struct {
	embedded.TracerProvider

	to *witness
}

func (t tracers) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{to: t.to} }

type tracer struct {
	embedded.Tracer

	to *witness
}

// Start begins a span whose words are looked at as they come.
func (t tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := span{to: t.to}
	if t.to.world.repeats() {
		return ctx, s
	}
	t.to.looks("the name of a span", name)
	config := trace.NewSpanStartConfig(o...)
	s.SetAttributes(config.Attributes()...)

	return ctx, s
}

// A span is recorded by looking at it.
type span struct {
	noop.Span

	to *witness
}

func (s span) IsRecording() bool { return !s.to.world.repeats() }

func (s span) SetName(name string) { s.to.looks("the name of a span", name) }

func (s span) SetStatus(_ codes.Code, text string) { s.to.looks("the status of a span", text) }

func (s span) RecordError(err error, o ...trace.EventOption) {
	s.to.looks("the error of a span", err.Error())
	s.AddEvent("", o...)
}

func (s span) AddEvent(name string, o ...trace.EventOption) {
	s.to.looks("an event of a span", name)
	config := trace.NewEventConfig(o...)
	s.SetAttributes(config.Attributes()...)
}

func (s span) SetAttributes(attributes ...attribute.KeyValue) {
	if s.to.world.repeats() {
		return
	}
	for _, a := range attributes {
		if a.Value.Type() == attribute.STRING {
			s.to.looks("an attribute of a span", a.Value.AsString())
		} else {
			s.to.looks("an attribute of a span", a.Value.String())
		}
	}
}

// Meters are the metrics of one world, and of others before it in which no secret
// was seen: to make them takes as long as half a schedule.
type meters struct {
	collectors []prometheus.Collector
	kept       map[string]any
	seen       map[prometheus.Metric]bool // by those that were told their labels
	counted    []int                      // metrics of each of the collectors that were seen; a collector loses none
}

var usedMeters = sync.Pool{New: func() any {
	return &meters{kept: map[string]any{}, seen: map[prometheus.Metric]bool{}}
}}

// Keep returns what is kept under a name, which is made if there is nothing.
func (m *meters) Keep(name string, make func() any) any {
	if m.kept[name] == nil {
		m.kept[name] = make()
	}

	return m.kept[name]
}

// Register keeps the collector.
func (m *meters) Register(c prometheus.Collector) error {
	m.collectors = append(m.collectors, c)

	return nil
}

// MustRegister keeps the collectors.
func (m *meters) MustRegister(c ...prometheus.Collector) { m.collectors = append(m.collectors, c...) }

// Unregister keeps the collector, too: what it shows was shown.
func (m *meters) Unregister(prometheus.Collector) bool { return true }

// each calls a function with every label of every metric that is new: labels of a
// metric do not change.
func (m *meters) each(see func(name, value string)) {
	collecting.Lock()
	defer collecting.Unlock()
	m.counted = append(m.counted, make([]int, len(m.collectors)-len(m.counted))...)
	for i, c := range m.collectors {
		c.Collect(collected)
		n := len(collected)
		known := n == m.counted[i]
		m.counted[i] = n
		for range n {
			metric := <-collected
			if known || m.seen[metric] {
				continue
			}
			m.seen[metric] = true
			out, err := read(metric.Write)
			if err != nil {
				see("of a metric that cannot be read", err.Error())
			}
			for _, label := range out.GetLabel() {
				see(label.GetName(), label.GetValue())
			}
		}
	}
}

// Room for the metrics of one name: more than there may be. It is of no bubble, so that all can use it.
var (
	collecting sync.Mutex
	collected  = make(chan prometheus.Metric, 4096)
)

// read returns what a method writes, whose type need not be named.
func read[T any](write func(*T) error) (*T, error) {
	out := new(T)

	return out, write(out)
}

// judgeMetrics looks at the labels that all processes of the world have used: there is no secret in
// them, and no object has its own, or a cluster would have more of them than of
// anything else. Where nobody said a secret there is nothing to look for.
func (w *World) judgeMetrics() {
	if !w.talks {
		return
	}
	w.meters.each(func(name, value string) {
		w.told.looks("the label "+name, value)
		for uid := range w.users.names {
			if strings.Contains(value, string(uid)) {
				w.violate("L8", "the label "+name+" is there once for each object")
			}
		}
	})
}
