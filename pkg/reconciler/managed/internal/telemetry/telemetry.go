// Package telemetry counts, times and traces the passes of one kind of managed
// resource. Start with New: a reconciler has one Recorder and tells it when a
// pass and each external call in it begin and end, what was written, and what
// the object says at the end.
//
//	ctx, pass := recorder.Begin(ctx, &object, mg)
//	ctx, call := recorder.Step(ctx, telemetry.Observe)
//	call.End(err)
//	recorder.Compared(&object, mg, telemetry.Differs)
//	recorder.Wrote(telemetry.Status, true)
//	recorder.Seen(&object, mg)
//	pass.End("kept", nil)
//
// Metrics are those of Prometheus, spans those of OpenTelemetry. No value of a
// label comes from an object, so that there are as many time series as kinds ask
// for, however many objects come and go. Seven metrics bear the names and labels
// of crossplane: with the prefix "crossplane" its dashboards go on working.
//
// What is remembered of an object (whether it was counted as ready, when it was
// last in sync) is an [Object], which whoever calls keeps, and gives to Forget when
// the object goes. It takes the place of a list of all objects now and then: the
// gauges move when an object does.
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

// DefaultPrefix begins the names of all metrics unless Options say otherwise.
const DefaultPrefix = "moorage"

// Options of a Recorder. The zero value is the default of each.
type Options struct {
	// Prefix begins the names of all metrics: DefaultPrefix by default,
	// "crossplane" for dashboards made for that.
	Prefix string

	// Outcomes that passes may have, and Classes of their failures. Those that are
	// named here are served from the beginning, at zero: what appears with its first
	// count has not increased, as far as Prometheus can see.
	Outcomes, Classes []string

	// Registerer takes the metrics. The default is what controller-runtime
	// serves.
	Registerer prometheus.Registerer

	// TracerProvider makes spans. The default is none at all.
	TracerProvider trace.TracerProvider

	// Clock that durations are read from. The default is the system's.
	Clock clock.PassiveClock
}

// A Recorder is told what happens to the objects of one kind. Make one with New.
// All methods may be called concurrently for different objects, not for the same.
type Recorder struct {
	kind    schema.GroupVersionKind
	clock   clock.PassiveClock
	made    time.Time    // shortly before now
	tracer  trace.Tracer // nil: no spans
	spans   spanOptions
	metrics *metrics
}

// New returns a Recorder of the kind. Recorders that share a Registerer and a
// prefix share metrics, also when they are of one kind: their numbers add up.
//
// An error says which metrics the Registerer did not take, because others have
// their names. The Recorder can be used all the same; those are then not served.
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

// A Pass is one that has begun. It is ended exactly once.
type Pass struct {
	r     *Recorder
	begun time.Time
	span  trace.Span // nil: none
}

// Begin a pass over an object as it was read, conditions included, and with what is
// remembered of it. Spans of the
// pass belong into the context that is returned.
//
// With the first pass of its life, known by the lack of the condition Synced,
// the time since the object was made is its time to reconcile.
func (r *Recorder) Begin(ctx context.Context, o *Object, mg resource.Managed) (context.Context, Pass) {
	p := Pass{r: r, begun: r.clock.Now()}
	r.metrics.inFlight.Inc()
	r.meet(o, mg, p.begun)
	if r.tracer != nil {
		ctx, p.span = r.startPass(ctx, mg, p.begun)
	}

	return ctx, p
}

// End the pass with its outcome, a short constant, and its error if any. Call it
// deferred, or passes that panic are in flight for ever.
func (p Pass) End(outcome string, err error) {
	now := p.r.clock.Now()
	p.r.metrics.inFlight.Dec()
	p.r.metrics.passes.inc(outcome)
	p.r.metrics.passSeconds.Observe(seconds(p.begun, now))
	if p.span != nil {
		endPass(p.span, outcome, err, now)
	}
}

// A Step is a call to the external system, or to what an author added to a pass.
type Step int

// The steps of a pass.
const (
	Connect Step = iota
	Observe
	Create
	Update
	Delete
	Disconnect
	Prepare // initialises, and resolves references
	Recover // looks up what a create led to
	Publish // stores connection details
	List    // asks for a page of what there is
)

var stepNames = [...]string{"connect", "observe", "create", "update", "delete", "disconnect", "prepare", "recover",
	"publish", "list"}

// String returns the step in one word, as it is in labels and names of spans.
func (s Step) String() string { return stepNames[s] }

// A Call is a step that has begun. It is ended exactly once.
type Call struct {
	r     *Recorder
	step  Step
	begun time.Time
	span  trace.Span // nil: none
}

// Step begins one. The context that is returned carries its span, and is to be
// that of the call.
func (r *Recorder) Step(ctx context.Context, s Step) (context.Context, Call) {
	c := Call{r: r, step: s, begun: r.clock.Now()}
	if r.tracer != nil {
		ctx, c.span = r.startStep(ctx, s, c.begun)
	}

	return ctx, c
}

// End the call with its error, if any.
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

// A Write is what a request to the API server is for.
type Write int

// The writes of a pass.
const (
	Intent    Write = iota // what must be durable before a call
	Result                 // what a call told us
	LateInit               // what an observation put into the spec
	Finalizer              // its addition or removal alone
	Status
	Secret // connection details
)

var writeNames = [...]string{"intent", "result", "late-init", "finalizer", "status", "secret"}

// String returns the write as it is in labels.
func (w Write) String() string { return writeNames[w] }

// Wrote counts a write that the API server has answered. It changed something if
// the object has another resourceVersion since.
func (r *Recorder) Wrote(w Write, changed bool) {
	if changed {
		r.metrics.writes[w].changed.Inc()
	} else {
		r.metrics.writes[w].unchanged.Inc()
	}
}

// Abandoned counts an attempt to create that a user gave up: what it may have
// led to is nobody's.
func (r *Recorder) Abandoned() { r.metrics.abandoned.Inc() }

// UntoldCreateError counts an error of Create that did not say whether anything was created,
// and was taken for a failure.
func (r *Recorder) UntoldCreateError() { r.metrics.untold.Inc() }

// Overdue counts a call to the external system that did not return although its time
// was over.
func (r *Recorder) Overdue() { r.metrics.overdue.Inc() }

// Terminal counts a pass that ended in an error which trying again does not
// mend, by the reason that its author gave. Beyond several dozens of reasons,
// and for what is no word, the reason is "other".
func (r *Recorder) Terminal(reason string) { r.metrics.terminals.inc(reason) }

// Failed counts a pass that did not do what it had to, by the class of its
// failure, a short constant.
func (r *Recorder) Failed(class string) { r.metrics.failures.inc(class) }

// A Listing is what a shared list said of an object.
type Listing int

// What a list may say.
const (
	Listed    Listing = iota // all is well
	NotListed                // nothing: it was observed singly
	Doubtful                 // something that an observation has to confirm
)

var listingNames = [...]string{"well", "nothing", "doubtful"}

// Listed counts what a list said of an object.
func (r *Recorder) Listed(l Listing) { r.metrics.listed[l].Inc() }

// A Notification is what became of a word that something has changed outside.
type Notification int

// What may become of it.
const (
	Woke    Notification = iota // its object is looked at
	Unknown                     // it is of no object
)

var notificationNames = [...]string{"woke", "unknown"}

// Notified counts what became of a word that something has changed outside.
func (r *Recorder) Notified(n Notification) { r.metrics.notified[n].Inc() }

// Watches sets of how many connections changes are told, and of how many not.
func (r *Recorder) Watches(healthy, unhealthy int) {
	r.metrics.watches[0].Set(float64(healthy))
	r.metrics.watches[1].Set(float64(unhealthy))
}

// seconds from one time to a later one. Clocks of two machines may disagree.
func seconds(from, to time.Time) float64 { return max(to.Sub(from).Seconds(), 0) }
