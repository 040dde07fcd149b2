package managed

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// endingPass returns a pass at noon, without jitter, of a reconciler as authors make it.
func endingPass(o ...ReconcilerOption) *pass {
	r := madeWith(append([]ReconcilerOption{
		WithClock(testclock.NewFakePassiveClock(noon)), WithRandom(func() float64 { return 0.5 }),
	}, o...)...)
	read := bearing(nil)

	p := passOver(r, read, clone(read), (&objectState{}).acquire(new(sync.Pool)))
	p.generation = 3

	return p
}

// passOver returns a pass that has read an object, and what it has made of it.
func passOver(r *Reconciler, read, mg resource.Managed, known *objectState) *pass {
	p := &pass{}
	p.object = r.objectOf(read, mg, known)

	return p
}

// TestFailureOutcomes verifies that each failure is reported by its stage, class and reason, and has its own retry
// policy.
func TestFailureOutcomes(t *testing.T) {
	boom := errors.New("boom")
	warning := string(event.TypeWarning)
	observed := outcomeText{
		Name: "observe-failed", Synced: "Synced False/ReconcileError: observe failed: boom",
		Event: warning + "/CannotObserveExternalResource: observe failed: boom", Again: resync, Progress: moving,
	}
	with := func(change func(*outcomeText)) outcomeText {
		out := observed
		change(&out)

		return out
	}
	cases := map[string]struct {
		err      error
		watching bool
		want     outcomeText
		recheck  int
	}{
		"of a stage": {err: observing.failed(boom), want: observed},
		"of none": {err: boom, want: outcomeText{
			Name: "failed", Synced: "Synced False/ReconcileError: boom",
			Event: warning + "/CannotInitializeManagedResource: boom", Again: resync, Progress: moving,
		}},
		"of a create": {err: creating.failed(boom), want: outcomeText{
			Name: "create-failed", Ready: "Ready False/Creating: ",
			Synced: "Synced False/ReconcileError: create failed: boom",
			Event:  warning + "/CannotCreateExternalResource: create failed: boom", Again: resync, Progress: moving,
		}},
		"of an update": {err: updating.failed(boom), want: outcomeText{
			Name: "update-failed", Synced: "Synced False/ReconcileError: update failed: boom",
			UpToDate: "UpToDate False/UpdateFailed: ",
			Event:    warning + "/CannotUpdateExternalResource: update failed: boom", Again: resync, Progress: moving,
		}},
		"that trying again does not mend": {err: observing.failed(external.Terminal("Quota", boom)),
			want: with(func(o *outcomeText) {
				o.Synced, o.Progress = "Synced False/Quota: observe failed: boom", stuck
			})},
		"that says when": {
			err:  observing.failed(external.RetryAfter(20*time.Second, boom)),
			want: with(func(o *outcomeText) { o.After = 21 * time.Second }),
		},
		"of the credentials": {err: observing.failed(external.Unauthorized(boom)), recheck: 1,
			want: with(func(o *outcomeText) {
				o.Synced = "Synced False/Unauthorized: observe failed: boom"
			})},
		"of a referent that nobody watches": {err: observing.failed(external.Terminal("ReferenceNotReady", boom)),
			want: with(func(o *outcomeText) {
				o.Synced, o.Again = "Synced False/ReferenceNotReady: observe failed: boom", backoff
			})},
		"of a referent that is watched": {watching: true,
			err: observing.failed(external.Terminal("ReferenceNotReady", boom)), want: with(func(o *outcomeText) {
				o.Synced = "Synced False/ReferenceNotReady: observe failed: boom"
			})},
		"of what was not stored": {err: observing.failed(&notStoredError{[]string{"annotation a"}}),
			want: with(func(o *outcomeText) {
				text := "observe failed: " + (&notStoredError{[]string{"annotation a"}}).Error()
				o.Synced, o.Event = "Synced False/MarksNotStored: "+text, warning+"/CannotObserveExternalResource: "+
					text
				o.Again, o.After, o.Progress = backoff, time.Second, stuck
			})},
	}
	for name, tc := range cases {
		rechecked, registry := 0, prometheus.NewRegistry()
		p := endingPass(WithMetricsRegisterer(registry))
		p.connection.Recheck = func() { rechecked++ }
		p.r.watching.Store(tc.watching)
		if diff := cmp.Diff(tc.want, inFull(p.failureOutcome(tc.err))); diff != "" || rechecked != tc.recheck {
			t.Errorf("%s: %d checks of the credentials, want %d; -want, +got:\n%s", name, rechecked, tc.recheck, diff)
		}
		counted := 0.0
		for _, n := range sample(t, registry, "moorage_managed_failures_total", "class") {
			counted += n
		}
		if counted != 1 {
			t.Errorf("%s: %v failures are counted", name, counted)
		}
	}
}

// A notebook is a recorder with a name that records its events.
type notebook struct {
	name  string
	with  string
	wrote *[]string
}

func (n notebook) Event(_ runtime.Object, e event.Event) {
	*n.wrote = append(*n.wrote, n.name+n.with+" "+string(e.Reason))
}

func (n notebook) WithAnnotations(keysAndValues ...string) event.Recorder {
	n.with = "[" + strings.Join(keysAndValues, "=") + "]"

	return n
}

// TestEventsGoToTheirRecorder verifies that events are emitted once, with the external name if there is one,
// however a pass ends.
func TestEventsGoToTheirRecorder(t *testing.T) {
	normal, warning := event.Normal("Done", "done"), event.Warning("Failed", errors.New("failed"))
	cases := map[string]struct {
		throttled bool
		name      string
		want      []string
	}{
		"one recorder":     {want: []string{"all Done", "all Failed"}},
		"one for warnings": {throttled: true, want: []string{"all Done", "warnings Failed"}},
		"of an external thing": {
			throttled: true, name: "vol-1",
			want: []string{"all[external-name=vol-1] Done", "warnings[external-name=vol-1] Failed"},
		},
	}
	ways := map[string]func(*pass){
		"announced":  (*pass).emitEvents,
		"mentioned":  func(p *pass) { p.events = p.events[:1]; p.emitEvent(warning) },
		"conflicted": func(p *pass) { p.requeueConflict(outcome{}) },
		"left":       func(p *pass) { p.events = p.events[:1]; p.finishSilently(end{outcome: outcome{event: warning}}) },
	}
	for name, tc := range cases {
		for way, end := range ways {
			var wrote []string
			o := []ReconcilerOption{WithRecorder(notebook{name: "all", wrote: &wrote})}
			if tc.throttled {
				o = append(o, WithThrottledRecorder(notebook{name: "warnings", wrote: &wrote}))
			}
			p := endingPass(o...)
			meta.SetExternalName(p.mg, tc.name)
			p.recordEvent(normal)
			p.recordEvent(warning)
			end(p)
			p.emitEvents()
			if diff := cmp.Diff(tc.want, wrote); diff != "" {
				t.Errorf("%s, %s: -want, +got:\n%s", name, way, diff)
			}
		}
	}
}

// TestNamesOfSilentEnds verifies that a pass that ends in a conflict, or whose object is gone, is counted under its
// own name.
func TestNamesOfSilentEnds(t *testing.T) {
	p := endingPass()
	result := p.requeueConflict(outcome{name: "kept"})
	if p.outcomeLabel != "conflict" || p.state.Conflicts != 1 || !result.backoff ||
		result.after != 0 {
		t.Errorf("a conflict ends as %q, the %d. in a row, with %+v", p.outcomeLabel, p.state.Conflicts, result)
	}
	if p.finishSilently(end{outcome: outcome{name: "released"}}); p.outcomeLabel != "released" {
		t.Errorf("an object that is let go ends as %q", p.outcomeLabel)
	}
}

// TestTheLastWarningOfEachReason verifies that a warning is repeated when its message changes, for each reason by
// itself.
func TestTheLastWarningOfEachReason(t *testing.T) {
	p := endingPass()
	for i, tc := range []struct {
		reason, message string
		want            bool
	}{
		{"A", "boom", true}, {"A", "boom", false}, {"B", "boom", true}, {"A", "bang", true}, {"A", "boom", true},
		{"B", "boom", false}, {"A", "", true}, {"C", "", true},
	} {
		if got := p.isNewMessage(tc.reason, tc.message); got != tc.want {
			t.Errorf("step %d: %+v is told %t", i, tc, got)
		}
	}
}

// TestWhatIsNotStoredIsTriedAgain verifies that an unstored write is retried with backoff up to ten minutes,
// whatever the poll interval.
func TestWhatIsNotStoredIsTriedAgain(t *testing.T) {
	p := endingPass(WithPollInterval(time.Hour))
	for _, tc := range []struct {
		waited int // times
		want   time.Duration
	}{{0, time.Second}, {3, 8 * time.Second}, {100, 10 * time.Minute}} {
		p.state.Backoffs = tc.waited
		if o := p.failureOutcome(recording.failed(&notStoredError{[]string{"annotation a"}})); o.after != tc.want ||
			o.requeue != backoff {
			t.Errorf("after %d times it is tried again after %s (%v), want %s", tc.waited, o.after, o.requeue, tc.want)
		}
	}
}

// TestAFailureThatComesBackIsNews verifies that a failure is reported again after another one, and not when it
// repeats.
func TestAFailureThatComesBackIsNews(t *testing.T) {
	p := endingPass()
	for i, tc := range []struct {
		message string
		want    bool
	}{{"boom", true}, {"bang", true}, {"boom", true}, {"boom", false}} {
		p.setCondition(commonv1.ReconcileError(errors.New(tc.message)))
		if got := p.isNewEvent(outcome{event: event.Warning("CannotLook", errors.New(tc.message))}); got != tc.want {
			t.Errorf("step %d: %s is news: %t", i, tc.message, got)
		}
	}
}

// TestUpToDateIsSaidFromTheFirstDifference verifies that UpToDate is reported from the first difference on, and is
// Unknown without an observation or a resource.
func TestUpToDateIsSaidFromTheFirstDifference(t *testing.T) {
	yes, no := upToDate(metav1.ConditionTrue, "Same"), upToDate(metav1.ConditionFalse, "Differs")
	before := upToDate(metav1.ConditionFalse, "Before")
	synced := unsynced("Missing", "")
	cases := map[string]struct {
		said              bool
		outcome           outcome
		observed, present bool
		want              string
	}{
		"it never differed": {outcome: outcome{upToDate: yes}, want: "Unknown/"},
		"it differs":        {outcome: outcome{upToDate: no}, want: "False/Differs"},
		"it has differed":   {said: true, outcome: outcome{upToDate: yes}, want: "True/Same"},
		"it is stuck": {
			said: true, outcome: outcome{synced: synced, progress: stuck}, want: "Unknown/Missing",
		},
		"it is halted": {
			said: true, outcome: outcome{synced: synced, progress: halting},
			want: "Unknown/Missing",
		},
		"it is not there": {
			said: true, outcome: outcome{synced: synced, progress: moving}, observed: true,
			want: "Unknown/Missing",
		},
		"it is there": {
			said: true, outcome: outcome{synced: synced, progress: moving}, observed: true,
			present: true, want: "False/Before",
		},
		"nothing was looked at": {
			said: true, outcome: outcome{synced: synced, progress: moving}, want: "False/Before",
		},
		"nothing is said of it":      {said: true, outcome: outcome{progress: stuck}, want: "False/Before"},
		"it is stuck, and never was": {outcome: outcome{synced: synced, progress: stuck}, want: "Unknown/"},
	}
	for name, tc := range cases {
		p := endingPass()
		if tc.said {
			p.mg.SetConditions(before)
		}
		p.observed, p.observation.ResourceExists = tc.observed, tc.present
		p.setUpToDate(tc.outcome)
		if c := p.mg.GetCondition(commonv1.TypeUpToDate); string(c.Status)+"/"+string(c.Reason) != tc.want {
			t.Errorf("%s: %s/%s, want %s", name, c.Status, c.Reason, tc.want)
		}
	}
}

// TestRewordedFailuresAreLimited verifies that the message of one failure changes at most five times an hour.
func TestRewordedFailuresAreLimited(t *testing.T) {
	of := "observe-failed/ReconcileError/3/"
	o := outcome{
		name: "observe-failed", synced: unsynced(commonv1.ReasonReconcileError, "new words"),
		event: event.Warning("R", errors.New("new words")),
	}
	cases := map[string]struct {
		known  objectstate.Rewordings
		before commonv1.Condition
		kept   bool
		begun  bool // it counts anew
	}{
		"the first time": {before: unsynced(commonv1.ReasonReconcileError, "old words"), begun: true},
		"often": {
			known:  objectstate.Rewordings{Of: of, Since: noon.Add(-59 * time.Minute), Count: 5},
			before: unsynced(commonv1.ReasonReconcileError, "old words"), kept: true,
		},
		"not often yet": {
			known:  objectstate.Rewordings{Of: of, Since: noon, Count: 4},
			before: unsynced(commonv1.ReasonReconcileError, "old words"),
		},
		"an hour ago": {
			known:  objectstate.Rewordings{Of: of, Since: noon.Add(-time.Hour), Count: 5},
			before: unsynced(commonv1.ReasonReconcileError, "old words"), begun: true,
		},
		"another failure": {
			known:  objectstate.Rewordings{Of: "create-failed/ReconcileError/3/", Since: noon, Count: 5},
			before: unsynced(commonv1.ReasonReconcileError, "old words"), begun: true,
		},
		"another generation": {
			known:  objectstate.Rewordings{Of: "observe-failed/ReconcileError/2/", Since: noon, Count: 5},
			before: unsynced(commonv1.ReasonReconcileError, "old words"), begun: true,
		},
		"another reason was told": {
			known:  objectstate.Rewordings{Of: of, Since: noon, Count: 5},
			before: unsynced("Quota", "old words"),
		},
		"all was well": {
			known:  objectstate.Rewordings{Of: of, Since: noon, Count: 5},
			before: commonv1.ReconcileSuccess(),
		},
	}
	for name, tc := range cases {
		p := endingPass()
		p.state.Reworded = tc.known
		p.read.SetConditions(tc.before)
		got := p.reworded(o)
		if kept := got.synced.Message == "old words" && got.event.Reason == ""; kept != tc.kept ||
			!kept && inFull(got) != inFull(o) {
			t.Errorf("%s: it says %+v, want the old words %t", name, inFull(got), tc.kept)
		}
		want := tc.known
		if tc.begun {
			want = objectstate.Rewordings{Of: of, Since: noon}
		}
		if p.state.Reworded != want {
			t.Errorf("%s: counted %+v, want %+v", name, p.state.Reworded, want)
		}
	}
	p := endingPass()
	p.mg.SetAnnotations(map[string]string{meta.AnnotationKeyReconcileRequestedAt: "now"})
	if p.reworded(o); p.state.Reworded.Of != of+"now" {
		t.Errorf("a request is part of the failure: %q", p.state.Reworded.Of)
	}
}

// TestOtherWordsAreCounted verifies that changes of the message count once they are in the status.
func TestOtherWordsAreCounted(t *testing.T) {
	old, other := unsynced("Quota", "old words"), unsynced("Quota", "other words")
	cases := map[string]struct {
		before, now commonv1.Condition
		err         error
		want        int
	}{
		"other words":    {old, other, nil, 1},
		"the same":       {old, old, nil, 0},
		"not written":    {old, other, errors.New("boom"), 0},
		"another reason": {old, unsynced("Other", "other words"), nil, 0},
		"all is well":    {commonv1.ReconcileSuccess(), commonv1.ReconcileSuccess().WithMessage("other words"), nil, 0},
	}
	for name, tc := range cases {
		p := endingPass()
		p.read.SetConditions(tc.before)
		p.mg.SetConditions(tc.now)
		if got := p.rewordings(tc.err).Count; got != tc.want {
			t.Errorf("%s: %d are counted, want %d", name, got, tc.want)
		}
	}
}

// TestWhatWasTriedOfAWish verifies that a pass remembers the handled request of a user until the status shows it,
// and that a throttled pass has handled none.
func TestWhatWasTriedOfAWish(t *testing.T) {
	wish := objectstate.UserIntent{Generation: 3}
	observed := func(p *pass) { c := commonv1.ReconcileSuccess(); c.ObservedGeneration = 3; p.newest.SetConditions(c) }
	cases := map[string]struct {
		arrange       func(*pass)
		outcome       outcome
		failed, again bool
		tried         objectstate.UserIntent
		next          lifecycle.Priority
		remembers     bool // that it failed
	}{
		"nobody tells":     {outcome: outcome{requeue: poll}, tried: wish, next: lifecycle.Poll},
		"the object tells": {arrange: observed, outcome: outcome{requeue: poll}, next: lifecycle.Poll},
		"it goes on":       {outcome: outcome{requeue: adaptive}, tried: wish, next: lifecycle.Progress},
		"it grows":         {outcome: outcome{requeue: backoff}, tried: wish, next: lifecycle.Progress},
		"never":            {outcome: outcome{requeue: never}, tried: wish, next: lifecycle.Poll},
		"slowly": {
			outcome: outcome{requeue: resync}, failed: true, tried: wish, next: lifecycle.Poll,
			remembers: true,
		},
		"it is tried again": {
			outcome: outcome{requeue: resync}, failed: true, again: true, tried: wish,
			next: lifecycle.Retry, remembers: true,
		},
		"it was not tried": {
			outcome: outcome{requeue: backoff, unfinished: true}, failed: true, again: true,
			next: lifecycle.User,
		},
		"it is deleted": {
			arrange: func(p *pass) { observed(p); p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon}) },
			outcome: outcome{requeue: poll},
			tried:   objectstate.UserIntent{Generation: 3, Deleted: true}, next: lifecycle.Poll,
		},
		"of another version": {
			arrange: func(p *pass) { observed(p); p.generation = 4 },
			outcome: outcome{requeue: poll}, tried: objectstate.UserIntent{Generation: 4},
			next: lifecycle.Poll,
		},
	}
	for name, tc := range cases {
		p := endingPass()
		p.nextPriority, p.state.Stop = lifecycle.User, objectstate.Stop{Version: "1"}
		if tc.arrange != nil {
			tc.arrange(p)
		}
		p.recordUserIntent(tc.outcome, tc.failed, tc.again)
		if p.state.TriedIntent != tc.tried || p.nextPriority != tc.next || p.state.Failed != tc.remembers ||
			p.state.Stop != (objectstate.Stop{}) {
			t.Errorf("%s: tried %+v, next %v, failed %t, want %+v, %v, %t", name, p.state.TriedIntent,
				p.nextPriority, p.state.Failed, tc.tried, tc.next, tc.remembers)
		}
	}
}

// TestAFailureOfAnotherSystemIsNoOutage verifies that the failure of a publisher, and a terminal error, do not hide
// what fails afterwards for the same reason.
func TestAFailureOfAnotherSystemIsNoOutage(t *testing.T) {
	outage := unsynced(commonv1.ReasonExternalSystemUnavailable, "it does not answer")
	for name, tc := range map[string]struct {
		change func(*outcome)
		is     bool
	}{
		"a call":      {func(*outcome) {}, true},
		"held":        {func(o *outcome) { o.name = "held" }, true},
		"a publisher": {func(o *outcome) { o.name = "publish-failed" }, false},
		"terminal":    {func(o *outcome) { o.progress = stuck }, false},
		"other":       {func(o *outcome) { o.synced.Reason = "Quota" }, false},
	} {
		o := outcome{name: "observe-failed", synced: outage, progress: moving}
		if tc.change(&o); isOutage(o) != tc.is {
			t.Errorf("%s: an outage is %t", name, !tc.is)
		}
	}
}

// TestAnOutageWithoutObservedGeneration verifies that an outage is reported once if the CRD stores no
// observedGeneration of conditions.
func TestAnOutageWithoutObservedGeneration(t *testing.T) {
	p := endingPass()
	p.generation, p.connection.Revision = 3, "1"
	o := outcome{
		name: "observe-failed", progress: moving,
		synced: unsynced(commonv1.ReasonExternalSystemUnavailable, "it does not answer"),
		event:  event.Warning(reasonCannotObserve, errors.New("it does not answer")),
	}
	if got := p.reworded(o); got.event.Reason == "" {
		t.Error("the outage is not reported")
	}
	p.read.SetConditions(unsynced(commonv1.ReasonExternalSystemUnavailable, "old words"))
	if got := p.reworded(o); got.event.Reason != "" || got.synced.Message != "old words" {
		t.Errorf("the same outage is reported again: %+v", inFull(got))
	}
}
