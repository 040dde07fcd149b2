package managed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// says puts conditions of a generation into an object.
func says(mg resource.Managed, generation int64, c ...commonv1.Condition) {
	for _, c := range c {
		c.ObservedGeneration = generation
		mg.SetConditions(c)
	}
}

// wellPass returns a pass over an object that says of its third generation that all is well.
func wellPass(o ...ReconcilerOption) *pass {
	p := endingPass(o...)
	says(p.read, 3, commonv1.Available(), commonv1.ReconcileSuccess())
	p.mg = clone(p.read)

	return p
}

// TestPriorityFacts verifies that the object and the memory determine the priority facts.
func TestPriorityFacts(t *testing.T) {
	wish := objectstate.UserIntent{Generation: 3}
	deletes := func(p *pass) { p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon}) }
	cases := map[string]struct {
		arrange func(*pass)
		want    lifecycle.PriorityFacts
	}{
		"well":    {func(*pass) {}, lifecycle.PriorityFacts{Healthy: true}},
		"known":   {func(p *pass) { p.state.Known = true }, lifecycle.PriorityFacts{Healthy: true, Known: true}},
		"changed": {func(p *pass) { p.generation = 4 }, lifecycle.PriorityFacts{Requested: true}},
		"tried": {func(p *pass) { p.generation, p.state.TriedIntent = 4, objectstate.UserIntent{Generation: 4} },
			lifecycle.PriorityFacts{}},
		"asked for": {func(p *pass) { p.requested = "now" }, lifecycle.PriorityFacts{Requested: true, Healthy: true}},
		"asked, and done": {func(p *pass) {
			p.requested, p.state.TriedIntent = "now", objectstate.UserIntent{Generation: 3, Request: "now"}
		}, lifecycle.PriorityFacts{Healthy: true}},
		"deleted": {deletes, lifecycle.PriorityFacts{Requested: true, Busy: true, Healthy: true}},
		"being deleted": {func(p *pass) {
			deletes(p)
			p.state.TriedIntent = objectstate.UserIntent{Generation: 3,
				Deleted: true}
		}, lifecycle.PriorityFacts{Busy: true, Healthy: true}},
		"failed": {func(p *pass) { p.state.Failed, p.state.TriedIntent = true, wish },
			lifecycle.PriorityFacts{Failed: true, Healthy: true}},
		"not synced": {func(p *pass) { says(p.read, 3, commonv1.ReconcileError(errors.New("boom"))) },
			lifecycle.PriorityFacts{Failed: true}},
		"not ready": {func(p *pass) { says(p.read, 3, commonv1.Unavailable()) },
			lifecycle.PriorityFacts{Busy: true}},
		"new": {func(p *pass) { p.read = bearing(nil) }, lifecycle.PriorityFacts{Requested: true}},
		"different": {func(p *pass) { says(p.read, 3, upToDate("False", commonv1.ReasonUpdateRequested)) },
			lifecycle.PriorityFacts{}},
		"not understood": {func(p *pass) { p.policy = errors.New("no such policy") }, lifecycle.PriorityFacts{}},
		"paused": {func(p *pass) {
			meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
		}, lifecycle.PriorityFacts{}},
	}
	for name, tc := range cases {
		p := wellPass()
		tc.arrange(p)
		if diff := cmp.Diff(tc.want, p.priorityFacts()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// A generational object says of which generation its status is.
type generational struct {
	fake.Managed

	observed int64
}

func (g *generational) GetObservedGeneration() int64  { return g.observed }
func (g *generational) SetObservedGeneration(n int64) { g.observed = n }

// TestWhichGenerationWasLookedAt verifies that a generation counts as observed if the status says so, unless the
// connection stopped the pass.
func TestWhichGenerationWasLookedAt(t *testing.T) {
	cases := map[string]struct {
		reason     commonv1.ConditionReason
		generation int64
		want       bool
	}{
		"success":              {commonv1.ReasonReconcileSuccess, 3, true},
		"a failure":            {commonv1.ReasonReconcileError, 3, true},
		"of an earlier one":    {commonv1.ReasonReconcileSuccess, 2, false},
		"nothing":              {"", 3, false},
		"throttled":            {commonv1.ReasonThrottled, 3, false},
		"not authorized":       {commonv1.ReasonUnauthorized, 3, false},
		"the system was down":  {commonv1.ReasonExternalSystemUnavailable, 3, false},
		"a condition of other": {"Other", 3, true},
	}
	for name, tc := range cases {
		for observed, counts := range map[int64]bool{2: false, 3: true} {
			p, mg := endingPass(), &generational{observed: observed}
			says(mg, tc.generation, commonv1.Condition{Type: commonv1.TypeSynced, Status: "True", Reason: tc.reason})
			if got := p.generationObserved(&mg.Managed); got != tc.want {
				t.Errorf("%s: got %t", name, got)
			}
			if got := p.generationObserved(mg); got != (tc.want && counts) {
				t.Errorf("%s: got %t where the object says that it observed %d", name, got, observed)
			}
		}
	}
}

// TestWhatCannotWaitToBePutBack verifies that a removed record or finalizer is restored at once.
func TestWhatCannotWaitToBePutBack(t *testing.T) {
	cases := map[string]struct {
		restored, author, kept bool
		annotations            map[string]string
		want                   bool
	}{
		"the record":                 {restored: true, kept: true, want: true},
		"the record, of an author's": {restored: true, author: true, want: true},
		"the finalizer":              {want: true},
		"nothing":                    {kept: true},
		"the finalizer of an author": {author: true},
		"the finalizer of what is watched": {annotations: map[string]string{
			meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve}},
		"the finalizer of what is to stay": {annotations: map[string]string{
			meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan}},
	}
	for name, tc := range cases {
		p := endingPass()
		if p.restored = tc.restored; tc.author {
			p.r.finalizer = resource.NewNopFinalizer()
		}
		if tc.kept {
			p.mg.SetFinalizers([]string{FinalizerName})
		}
		meta.AddAnnotations(p.mg, tc.annotations)
		if got := p.recordMissing(); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestTheFirstPassIsDeferred verifies that the first pass over a healthy object is deferred to a moment within its
// poll interval.
func TestTheFirstPassIsDeferred(t *testing.T) {
	for random, want := range map[float64]time.Duration{
		0: time.Millisecond, 0.25: 150 * time.Second, 0.5: 5 * time.Minute,
	} {
		p := wellPass(WithPollInterval(10*time.Minute), WithRandom(func() float64 { return random }))
		p.nextPriority = lifecycle.User
		got, _ := p.deferPass().answer()
		if diff := cmp.Diff(reconcile.Result{RequeueAfter: want, Priority: new(controller.PriorityPoll)},
			got); diff != "" || p.outcomeLabel != "postponed" {
			t.Errorf("random %v: ended as %q, -want, +got:\n%s", random, p.outcomeLabel, diff)
		}
	}
	for again, want := range map[next]bool{{}: false, {after: 1}: true, {backoff: true}: true} {
		for _, err := range []error{nil, errors.New("boom")} {
			again.priority, again.err = new(controller.PriorityErrorRetry), err
			got, same := again.answer()
			if (got.Priority != nil) != (want || err != nil) ||
				got.Priority != nil && *got.Priority != controller.PriorityErrorRetry || !errors.Is(same, err) {
				t.Errorf("%+v with error %v has priority %v", again, err, got.Priority)
			}
		}
	}
}
