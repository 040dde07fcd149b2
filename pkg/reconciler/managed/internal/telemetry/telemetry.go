// Package telemetry counts, times and traces the passes of one kind of managed resource. Start with New. A reconciler
// has one Recorder. It reports to the Recorder the beginning and the end of each pass and of each external call, each
// write, and the status of the object at the end of the pass.
//
//	ctx, pass := recorder.Begin(ctx, &object, mg)
//	ctx, call := recorder.Step(ctx, telemetry.Observe)
//	call.End(err)
//	recorder.Compared(&object, mg, telemetry.Differs)
//	recorder.Wrote(telemetry.Status, true)
//	recorder.Seen(&object, mg)
//	pass.End("kept", nil)
//
// Metrics are those of Prometheus, spans those of OpenTelemetry. No value of a label comes from an object, so that the
// number of time series depends on the number of kinds, not of objects. Seven metrics have the names and labels of
// crossplane: with the prefix "crossplane" its dashboards continue to work.
//
// The memory of an object is an [Object]. It records whether the object was counted as ready, and when the object was
// last in sync. The caller keeps the Object, and passes it to Forget when the object is gone. Because of this memory no
// periodic list of all objects is necessary: the gauges change when an object does.
package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// DefaultPrefix is the default prefix of all metric names.
const DefaultPrefix = "moorage"

// Options are the options of a Recorder. The zero value has all defaults.
type Options struct {
	// Prefix is the prefix of all metric names: DefaultPrefix by default, "crossplane" for the dashboards of
	// crossplane.
	Prefix string

	// Outcomes are the possible outcomes of passes. Classes are the possible classes of their failures. The metrics of
	// these values are served at zero from the beginning, because Prometheus sees no increase in the first sample of a
	// series.
	Outcomes, Classes []string

	// Registerer registers the metrics. The default is the registry that controller-runtime serves.
	Registerer prometheus.Registerer

	// TracerProvider makes spans. The default is none.
	TracerProvider trace.TracerProvider

	// Clock is the clock of all durations. The default is the system clock.
	Clock clock.PassiveClock
}

// A Recorder records telemetry about the objects of one kind. Make one with New. All methods may be called
// concurrently for different objects, but not for the same object.
type Recorder struct {
	kind    schema.GroupVersionKind
	clock   clock.PassiveClock
	made    time.Time    // shortly before now
	tracer  trace.Tracer // nil: no spans
	spans   spanOptions
	metrics *metrics
}

// New returns a Recorder of the kind. Recorders with the same Registerer and prefix share metrics. If two Recorders
// with shared metrics are for the same kind, their numbers add up.
//
// An error names the metrics that the Registerer has rejected because their names are in use. The Recorder works
// nevertheless, but those metrics are not served.
func New(kind schema.GroupVersionKind, o Options) (*Recorder, error) {
	r := &Recorder{kind: kind, clock: o.Clock}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	r.made = r.clock.Now().Add(-1)
	if o.TracerProvider != nil {
		r.tracer, r.spans = o.TracerProvider.Tracer(tracerName), newSpanOptions(kind.GroupKind().String())
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Registerer == nil {
		o.Registerer = ctrlmetrics.Registry
	}
	var err error
	r.metrics, err = newMetrics(kind, o)

	return r, err
}

// A Write says what a write to the API server is for. Metrics count writes by it.
type Write int

// The writes of a pass.
const (
	Intent    Write = iota // state that must be durable before a call
	Result                 // the result of a call
	LateInit               // spec fields that an observation has filled
	Finalizer              // its addition or removal alone
	Status
	Secret // connection details
)

var writeNames = [...]string{"intent", "result", "late-init", "finalizer", "status", "secret"}

// String returns the label value of the write.
func (w Write) String() string { return writeNames[w] }

// A Pass is a pass that has begun. It must be ended exactly once.
type Pass struct {
	r     *Recorder
	begun time.Time
	span  trace.Span // nil: none
}

// Begin begins a pass. The argument mg is the object as it was read, with its conditions. The argument o is the Object
// that belongs to mg. Create the spans of the pass in the returned context.
//
// An object without the condition Synced has its first pass. Begin then records the time since the creation of the
// object as time to the first reconcile.
func (r *Recorder) Begin(ctx context.Context, o *Object, mg resource.Managed) (context.Context, Pass) {
	p := Pass{r: r, begun: r.clock.Now()}
	r.metrics.inFlight.Inc()
	r.count(o, mg, p.begun)
	if r.tracer != nil {
		ctx, p.span = r.startPass(ctx, mg, p.begun)
	}

	return ctx, p
}

// End ends the pass with its outcome, a short constant, and its error if any. Defer the call. Otherwise a pass that
// panics counts as in flight forever.
func (p Pass) End(outcome string, err error) {
	now := p.r.clock.Now()
	p.r.metrics.inFlight.Dec()
	p.r.metrics.passes.inc(outcome)
	p.r.metrics.passSeconds.Observe(seconds(p.begun, now))
	if p.span != nil {
		endPass(p.span, outcome, err, now)
	}
}

// A Step is a call in a pass, to the external system or to other code of the provider's author.
type Step int

// The steps of a pass.
const (
	Connect Step = iota
	Observe
	Create
	Update
	Delete
	Disconnect
	Prepare // initializes, and resolves references
	Recover // looks up the result of a create
	Publish // publishes connection details
	List    // reads a page of a list
)

var stepNames = [...]string{"connect", "observe", "create", "update", "delete", "disconnect", "prepare", "recover",
	"publish", "list"}

// String returns the word for the step in labels and span names.
func (s Step) String() string { return stepNames[s] }

// A Call is a step that has begun. It must be ended exactly once.
type Call struct {
	r     *Recorder
	step  Step
	begun time.Time
	span  trace.Span // nil: none
}

// Step begins a step. The returned context has the span of the step. Use the context for the call.
func (r *Recorder) Step(ctx context.Context, s Step) (context.Context, Call) {
	c := Call{r: r, step: s, begun: r.clock.Now()}
	if r.tracer != nil {
		ctx, c.span = r.startStep(ctx, s, c.begun)
	}

	return ctx, c
}

// End ends the call with its error, if any.
func (c Call) End(err error) {
	now := c.r.clock.Now()
	m := c.r.metrics.steps[c.step]
	if err != nil {
		m.errors.Inc()
	}
	observe(m.seconds, seconds(c.begun, now), c.span)
	if c.span != nil {
		endSpan(c.span, err, now)
	}
}

// seconds returns the seconds from one time to a later one. Clocks of two machines may disagree.
func seconds(from, to time.Time) float64 { return max(to.Sub(from).Seconds(), 0) }

// Wrote counts a write to which the API server has responded. The argument changed is true if the resourceVersion of
// the object has changed.
func (r *Recorder) Wrote(w Write, changed bool) {
	if changed {
		r.metrics.writes[w].changed.Inc()
	} else {
		r.metrics.writes[w].unchanged.Inc()
	}
}

// Abandoned counts an attempt to create that a user abandoned. A resource that the attempt created has no owner.
func (r *Recorder) Abandoned() { r.metrics.abandoned.Inc() }

// UntoldCreateError counts an error of Create that does not show whether anything was created, and that the
// reconciler treats as a failure.
func (r *Recorder) UntoldCreateError() { r.metrics.untold.Inc() }

// Overdue counts a call to the external system that did not return after its timeout.
func (r *Recorder) Overdue() { r.metrics.overdue.Inc() }

// Terminal counts a pass that ended in an error that a retry cannot resolve. The label of the metric is the reason that
// the author gave the error. The label is "other" for a reason that is not one word, and for all further reasons after
// several dozens.
func (r *Recorder) Terminal(reason string) { r.metrics.terminals.inc(reason) }

// Failed counts a pass that has failed, by the class of its failure, a short constant.
func (r *Recorder) Failed(class string) { r.metrics.failures.inc(class) }

// A Listing is the result of a shared list for an object.
type Listing int

// The results of a shared list.
const (
	Listed    Listing = iota // the object is healthy
	NotListed                // it was observed individually
	Doubtful                 // an observation has to confirm the item
)

var listingNames = [...]string{"well", "nothing", "doubtful"}

// Listed counts the result of a shared list for an object.
func (r *Recorder) Listed(l Listing) { r.metrics.listed[l].Inc() }

// A Notification is the effect of a notification of an external change.
type Notification int

// The effects of a notification.
const (
	Woke    Notification = iota // its object is observed
	Unknown                     // no object has the name
)

var notificationNames = [...]string{"woke", "unknown"}

// Notified counts the effect of a notification of an external change.
func (r *Recorder) Notified(n Notification) { r.metrics.notified[n].Inc() }

// priorityNames are the names of the priorities of passes, by the values of lifecycle.Priority.
var priorityNames = [...]string{"poll", "retry", "progress", "user"}

// LimitWaited adds the time that a pass has waited for the rate limit of its connection.
func (r *Recorder) LimitWaited(priority int, d time.Duration) {
	if d > 0 {
		r.metrics.limitWaiting[priority].Add(d.Seconds())
	}
}

// Watches sets the numbers of connections with and without a working event source.
func (r *Recorder) Watches(healthy, unhealthy int) {
	r.metrics.watches[0].Set(float64(healthy))
	r.metrics.watches[1].Set(float64(unhealthy))
}
