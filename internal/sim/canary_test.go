package sim

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
)

// span begins a span of the process.
func (h *hand) span(ctx context.Context, name string, o ...trace.SpanStartOption) trace.Span {
	_, s := tracers{sinks: h.sinks}.Tracer("x").Start(ctx, name, o...)

	return s
}

// leaks has every place in which a secret could be emitted, with a reconciler that puts it there. An error is the
// result of a pass.
var leaks = map[string]func(*hand, context.Context) error{
	"message of a log": func(h *hand, _ context.Context) error { h.sinks.Info("it is " + canary); return nil },
	"value in a log": func(h *hand, _ context.Context) error {
		h.sinks.Debug("failed", "with", struct{ Token string }{canaryCredential})
		return nil
	},
	"error in a log": func(h *hand, _ context.Context) error {
		h.sinks.Info("failed", "error", errors.New(canaryDetail))
		return nil
	},
	"value of a log": func(h *hand, _ context.Context) error { h.sinks.WithValues("token", canaryField); return nil },
	"packed in a log": func(h *hand, _ context.Context) error {
		h.sinks.Info(base64.StdEncoding.EncodeToString([]byte(canary)))
		return nil
	},
	"numbers in a log": func(h *hand, _ context.Context) error {
		h.sinks.Info(fmt.Sprintf("%x", canary))
		return nil
	},
	"event": func(h *hand, _ context.Context) error { h.sinks.Event(h.b, event.Normal("Made", canary)); return nil },
	"annotation of an event": func(h *hand, _ context.Context) error {
		h.sinks.Event(h.b, event.Event{
			Type: event.TypeNormal, Reason: "Made", Annotations: map[string]string{"by": canary},
		})
		return nil
	},
	"annotation of all events": func(h *hand, _ context.Context) error {
		h.sinks.WithAnnotations("by", canary)
		return nil
	},
	"annotation": func(h *hand, ctx context.Context) error {
		h.patch(ctx, `{"metadata":{"annotations":{"example.com/token":"`+canaryCredential+`"}}}`)
		return nil
	},
	"label": func(h *hand, ctx context.Context) error {
		h.patch(ctx, `{"metadata":{"labels":{"token":"`+canaryField+`"}}}`)
		return nil
	},
	"status": func(h *hand, ctx context.Context) error {
		h.status(ctx, `{"status":{"id":"`+canaryDetail+`"}}`)
		return nil
	},
	"condition": func(h *hand, ctx context.Context) error {
		h.status(ctx, `{"status":{"conditions":[{"type":"Reachable","status":"False","reason":"No","message":"with `+
			canary+
			`","lastTransitionTime":"2000-01-01T00:00:00Z"}]}}`)
		return nil
	},
	"label of a metric": func(h *hand, _ context.Context) error {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "failures"}, []string{"reason"})
		c.WithLabelValues(canary).Inc()
		h.plan.leaksSecrets = true
		return h.p.runtime.meters.Register(c)
	},
	"name of a span": func(h *hand, ctx context.Context) error { h.span(ctx, canary); return nil },
	"attribute of a span": func(h *hand, ctx context.Context) error {
		h.span(ctx, "x").SetAttributes(attribute.String("by", canary))
		return nil
	},
	"attributes of a span": func(h *hand, ctx context.Context) error {
		h.span(ctx, "x").SetAttributes(attribute.StringSlice("by", []string{canary}))
		return nil
	},
	"first attribute of a span": func(h *hand, ctx context.Context) error {
		h.span(ctx, "x", trace.WithAttributes(attribute.String("by", canary)))
		return nil
	},
	"status of a span": func(h *hand, ctx context.Context) error {
		h.span(ctx, "x").SetStatus(codes.Error, canary)
		return nil
	},
	"error of a span": func(h *hand, ctx context.Context) error {
		h.span(ctx, "x").RecordError(errors.New(canary))
		return nil
	},
	"event of a span": func(h *hand, ctx context.Context) error {
		h.span(ctx, "x").AddEvent("failed", trace.WithAttributes(attribute.String("by", canary)))
		return nil
	},
	"error of a pass": func(*hand, context.Context) error { return errors.New("cannot connect with " + canary) },
	"record of a change": func(h *hand, ctx context.Context) error {
		return h.sinks.recordChange(ctx,
			changelog.Entry{Operation: changelog.OperationCreate,
				After: []byte(`{"spec":{"accessToken":"` + canaryField + `"}}`)})
	},
}

// TestNewMetrics checks that each label of metrics that are used again is checked once, and so are those of later
// metrics.
func TestNewMetrics(t *testing.T) {
	m := &meters{kept: map[string]any{}, seen: map[prometheus.Metric]bool{}}
	one, other := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "one"}, []string{"reason"}),
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "other"}, []string{"reason"})
	m.MustRegister(one)
	expect := func(want ...string) {
		t.Helper()
		var got []string
		m.each(&shared.collector, func(_, value string) { got = append(got, value) })
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("the labels %v are new, want %v", got, want)
		}
	}
	one.WithLabelValues("a")
	expect("a")
	expect()
	one.WithLabelValues("b")
	m.MustRegister(other)
	other.WithLabelValues("c")
	expect("b", "c")
	one.WithLabelValues("b").Inc()
	expect()
}

// TestSecretsAreFound checks that a secret is found in every place.
func TestSecretsAreFound(t *testing.T) {
	for sink, put := range leaks {
		t.Run(sink, func(t *testing.T) {
			r := runWith(t, Schedule{Scenario: "create", Class: "opaque"}, false,
				func(h *hand, ctx context.Context) (reconcile.Result, error) {
					return reconcile.Result{RequeueAfter: pollInterval}, put(h, ctx)
				})
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Property == "S10" }) {
				t.Errorf("a secret was put into the %s, and not found: %v", sink, r.Violations)
			}
		})
	}
}

// runWith runs a schedule with another reconciler.
func runWith(t *testing.T, s Schedule, hoards bool, do func(*hand, context.Context) (reconcile.Result, error)) Result {
	t.Helper()
	var r Result
	synctest.Test(t, func(t *testing.T) {
		w, of, err := prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		w.verbose = true
		w.config.replace = func(p *process, to client.Client) reconcile.Reconciler {
			pass := 0

			broken := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				b := &bucket.Bucket{}
				if err := to.Get(ctx, req.NamespacedName, b); err != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				pass++
				x, err := (&seam{of: w.config.Connecter, process: p}).Connect(ctx, b)
				if err != nil {
					x, err = (&seam{of: w.config.Connecter, process: p}).Connect(context.WithoutCancel(ctx), b)
				}
				if err != nil {
					return reconcile.Result{}, err
				}

				return do(&hand{World: w, p: p, c: to, b: b, x: x, pass: pass}, ctx)
			})
			if hoards {
				return &hoarder{broken, map[reconcile.Request]int{}}
			}

			return broken
		}
		w.start(stepped{}, 0)
		of.run(w)
		w.judgeWork(0)
		w.end()
		w.judgeEnding(s, of.looseEnding)
		r = w.result(s)
	})

	return r
}

// TestSinks checks that the reconciler writes to every place that is searched for secrets.
func TestSinks(t *testing.T) {
	looked := map[string]int{}
	for _, line := range []string{
		"create/opaque Observe#1:fail Connect#2:throttle", "publish/named Update#1:fail patch#1:fail",
		"update/token Update#1:lost Disconnect#1:fail",
		"drift/named Update#1:refuse",
	} {
		s, err := ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			w, of, err := prepare(s)
			if err != nil {
				t.Fatal(err)
			}
			w.verbose = true
			w.start(stepped{}, 0)
			of.run(w)
			w.end()
			for where, n := range w.sinks.checked {
				looked[where] += n
			}
			for _, v := range w.violation {
				t.Error(s, v)
			}
		})
	}
	for _, where := range []string{
		"log", "event", "annotation of events", "the error of a pass", "the name of a span", "an attribute of a span",
		"the status of a span",
		"the error of a span", "the label kind", "the label outcome", "the label gvk", "change",
	} {
		if looked[where] == 0 {
			t.Errorf("nothing was checked as %q: %v", where, looked)
		}
	}
}
