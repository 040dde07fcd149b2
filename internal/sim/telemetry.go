package sim

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// A tracers passes the spans of a provider to its sinks.
type tracers struct {
	embedded.TracerProvider

	sinks *sinks
}

func (t tracers) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{sinks: t.sinks} }

type tracer struct {
	embedded.Tracer

	sinks *sinks
}

// Start starts a span, and checks its name and attributes.
func (t tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := span{sinks: t.sinks}
	if t.sinks.world.judgedBefore() {
		return ctx, s
	}
	t.sinks.check("the name of a span", name)
	config := trace.NewSpanStartConfig(o...)
	s.SetAttributes(config.Attributes()...)

	return ctx, s
}

// A span checks what is recorded in it.
type span struct {
	noop.Span

	sinks *sinks
}

func (s span) IsRecording() bool { return !s.sinks.world.judgedBefore() }

func (s span) SetName(name string) { s.sinks.check("the name of a span", name) }

func (s span) SetStatus(_ codes.Code, text string) { s.sinks.check("the status of a span", text) }

func (s span) RecordError(err error, o ...trace.EventOption) {
	s.sinks.check("the error of a span", err.Error())
	s.AddEvent("", o...)
}

func (s span) AddEvent(name string, o ...trace.EventOption) {
	s.sinks.check("an event of a span", name)
	config := trace.NewEventConfig(o...)
	s.SetAttributes(config.Attributes()...)
}

func (s span) SetAttributes(attributes ...attribute.KeyValue) {
	if s.sinks.world.judgedBefore() {
		return
	}
	for _, a := range attributes {
		if a.Value.Type() == attribute.STRING {
			s.sinks.check("an attribute of a span", a.Value.AsString())
		} else {
			s.sinks.check("an attribute of a span", a.Value.String())
		}
	}
}

// A meters has the metrics of a world. Worlds without a violation share one, because registering metrics takes as long
// as half a schedule.
type meters struct {
	collectors []prometheus.Collector
	kept       map[string]any
	seen       map[prometheus.Metric]bool // whose labels were checked
	counted    []int                      // seen metrics of each collector, which loses none
}

func newMeters() *meters {
	return &meters{kept: map[string]any{}, seen: map[prometheus.Metric]bool{}}
}

// Keep returns the value stored under a name. If there is none, it calls make and stores the result.
func (m *meters) Keep(name string, make func() any) any {
	if m.kept[name] == nil {
		m.kept[name] = make()
	}

	return m.kept[name]
}

// Register stores a collector, whose metrics are checked later. It never returns an error.
func (m *meters) Register(c prometheus.Collector) error {
	m.collectors = append(m.collectors, c)

	return nil
}

// MustRegister stores collectors, whose metrics are checked later.
func (m *meters) MustRegister(c ...prometheus.Collector) { m.collectors = append(m.collectors, c...) }

// Unregister keeps the collector stored, because its metrics were exposed. It returns true.
func (m *meters) Unregister(prometheus.Collector) bool { return true }

// each calls a function with every label of every new metric. The labels of an existing metric do not change.
func (m *meters) each(by *collector, see func(name, value string)) {
	by.collecting.Lock()
	defer by.collecting.Unlock()
	m.counted = append(m.counted, make([]int, len(m.collectors)-len(m.counted))...)
	for i, c := range m.collectors {
		c.Collect(by.collected)
		n := len(by.collected)
		known := n == m.counted[i]
		m.counted[i] = n
		for range n {
			metric := <-by.collected
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

// read returns what a method writes, so that its type need not be imported.
func read[T any](write func(*T) error) (*T, error) {
	out := new(T)

	return out, write(out)
}

// judgeMetrics checks the labels that all processes of the world have used. None may have a secret, and none may have a
// different value for each object. Without leaked secrets there is nothing to check.
func (w *World) judgeMetrics() {
	if !w.plan.leaksSecrets {
		return
	}
	w.sinks.meters.each(&w.config.simulator.collector, func(name, value string) {
		w.sinks.check("the label "+name, value)
		for uid := range w.users.names {
			if strings.Contains(value, string(uid)) {
				w.violate("L8", "the label "+name+" is there once for each object")
			}
		}
	})
}
