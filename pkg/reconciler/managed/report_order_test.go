package managed

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestWhatAPassEndsBy verifies that the most specific cause ends a pass: requeued, gone, conflict, fenced or
// shutting down, in this order.
func TestWhatAPassEndsBy(t *testing.T) {
	boom := errors.New("boom")
	stale := kerrors.NewConflict(schema.GroupResource{Resource: "things"}, "data", boom)
	wait := outcomes[listing]
	wait.after = 5 * time.Second
	cases := map[string]struct {
		outcome   outcome // kept by default
		err       error
		conflicts int // of passes before
		cancelled bool
		ended     string
		after     time.Duration
		again     bool // with the queue's back-off
		fails     bool
		next      lifecycle.Priority
	}{
		"put off": {outcome: wait, ended: "listing", after: 5 * time.Second, next: lifecycle.Poll},
		"put off, while it stops": {
			outcome: wait, cancelled: true, ended: "listing", after: 5 * time.Second, next: lifecycle.Poll,
		},
		"put off, and a failure": {outcome: wait, err: errReplaced, ended: "listing", next: lifecycle.User},
		"gone":                   {err: errReplaced, ended: "kept", next: lifecycle.User},
		"gone, and a conflict": {
			err: errors.Errorf("%w, and %w", errReplaced, stale), ended: "kept",
			next: lifecycle.User,
		},
		"a conflict": {err: stale, ended: "conflict", again: true, next: lifecycle.User},
		"a conflict, and fenced": {
			err: errors.Errorf("%w, and %w", stale, errFenced), ended: "conflict", again: true,
			next: lifecycle.User,
		},
		"a conflict that persists, and fenced": {
			err: errors.Errorf("%w, and %w", stale, errFenced), conflicts: silentConflicts, ended: "fenced", fails: true,
			next: lifecycle.User,
		},
		"fenced": {err: errFenced, ended: "fenced", fails: true, next: lifecycle.User},
		"fenced, and unchanged": {
			err: errors.Errorf("%w, and %w", errFenced, errCauseUnchanged), ended: "fenced",
			fails: true, next: lifecycle.User,
		},
		"unchanged": {
			err: errCauseUnchanged, ended: "awaiting-cause", after: time.Millisecond,
			next: lifecycle.Poll,
		},
		"unchanged, while it stops": {
			err: errCauseUnchanged, cancelled: true, ended: "awaiting-cause",
			after: time.Millisecond, next: lifecycle.Poll,
		},
		"a failure while it stops": {
			err: external.Unauthorized(boom), cancelled: true, ended: "interrupted", fails: true,
			next: lifecycle.User,
		},
		"a last conflict as it stops": {
			err: errors.Errorf("%w, and %w", stale, boom), cancelled: true, ended: "conflict",
			again: true, next: lifecycle.User,
		},
	}
	for name, tc := range cases {
		p := endingPass()
		p.nextPriority, p.state.Conflicts = lifecycle.User, tc.conflicts
		rechecked := 0
		p.connection.Recheck = func() { rechecked++ }
		ctx, cancel := context.WithCancel(t.Context())
		if tc.cancelled {
			cancel()
		}
		if tc.outcome.name == "" {
			tc.outcome = outcome{name: "kept", requeue: poll}
		}
		result, err := p.conclude(ctx, tc.outcome, tc.err)
		cancel()
		if p.outcomeLabel != tc.ended || result.RequeueAfter != tc.after ||
			result.Requeue != tc.again || //nolint:staticcheck // the only silent, rate-limited way
			(err != nil) != tc.fails {
			t.Errorf("%s: ended as %q with %+v, error %v", name, p.outcomeLabel, result, err)
		}
		if p.nextPriority != tc.next || rechecked != 0 || len(p.mg.GetAnnotations()) != 0 ||
			p.mg.GetCondition(commonv1.TypeSynced).Reason != "" {
			t.Errorf("%s: the next pass is of urgency %v, credentials are read again %d times, the object says %+v",
				name, p.nextPriority, rechecked, p.mg.GetCondition(commonv1.TypeSynced))
		}
	}
}

// TestAPassThatIsFencedFromItsStatus verifies that a pass that must not write its status still emits its events,
// and returns its own error, or else that of the fence.
func TestAPassThatIsFencedFromItsStatus(t *testing.T) {
	boom := errors.New("boom")
	for own, want := range map[error]error{nil: errFenced, boom: boom} {
		p, recorder := endingPass(), &objectRecorder{}
		p.r.recorder = recorder
		p.recordEvent(event.Normal(reasonCreated, "Created the external resource"))
		e := end{err: own, status: lifecycle.StatusFenced, statusErr: errFenced}
		if err := p.fencedResult(e).err; !errors.Is(err, want) || p.outcomeLabel != "fenced" ||
			len(recorder.what) != 1 {
			t.Errorf("with error %v, it ended as %q with %v, and told %+v", own, p.outcomeLabel, err, recorder.what)
		}
	}
}

// TestReconcileResult verifies that an unwritten status is an error in any case, and that a requested delay is kept
// with an error.
func TestReconcileResult(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		o         outcome
		err, werr error
		after     time.Duration
		want      string
	}{
		"a time, and the status is not written": {
			o: outcome{after: 7 * time.Second}, werr: boom,
			want: "cannot update managed resource status: boom",
		},
		"a time, and a failure": {
			o: outcome{after: 7 * time.Second}, err: boom, after: 7 * time.Second,
		},
		"a failure": {o: outcome{requeue: poll}, err: boom, want: "boom"},
		"a failure, and the status isn't": {
			o: outcome{requeue: poll}, err: boom, werr: errors.New("werr"),
			want: "cannot update managed resource status: werr",
		},
		"a terminal failure": {
			o: outcome{requeue: poll, progress: stuck}, err: external.Terminal("Quota", boom),
			after: time.Minute,
		},
		"one that goes on": {
			o: outcome{requeue: poll, progress: moving}, err: external.Terminal("Quota", boom),
			after: time.Minute,
		},
		"all is well": {o: outcome{requeue: poll}, after: time.Minute},
	}
	for name, tc := range cases {
		p := endingPass()
		got := p.nextAfter(end{outcome: tc.o, err: tc.err, statusErr: tc.werr})
		text := ""
		if got.err != nil {
			text = got.err.Error()
		}
		if got.after != tc.after || text != tc.want {
			t.Errorf("%s: after %s, error %q, want %s, %q", name, got.after, text, tc.after, tc.want)
		}
	}
}

// TestWhatIsNotPublishedIsNotReady verifies that an object with unpublished connection details is not Ready,
// whatever its outcome.
func TestWhatIsNotPublishedIsNotReady(t *testing.T) {
	p := endingPass()
	p.publishErr = errors.New("no such Secret")
	o := p.completeStatus(outcome{refine: func(_ *pass, o outcome) outcome {
		o.ready = commonv1.Available()

		return o
	}})
	if c := p.mg.GetCondition(commonv1.TypeReady); o.ready.Reason != commonv1.ReasonCreating ||
		c.Reason != commonv1.ReasonCreating {
		t.Errorf("the object says %+v", c)
	}
}

// TestDelaysGrowWhileTheCauseIsTheSame verifies that delays grow while the cause is the same, and that a change is
// waited for until it has an effect.
func TestDelaysGrowWhileTheCauseIsTheSame(t *testing.T) {
	for next, want := range map[requeue]struct{ backoffs, changed bool }{
		backoff: {true, true}, untilGrace: {true, true}, adaptive: {true, true}, poll: {false, false},
		resync: {false, true}, never: {false, true},
	} {
		p := endingPass()
		p.state.Backoffs, p.state.Changed = 3, 7
		p.completeStatus(outcome{requeue: next})
		if (p.state.Backoffs == 3) != want.backoffs || (p.state.Changed == 7) != want.changed {
			t.Errorf("%v: %d backoffs, changed at %v", next, p.state.Backoffs, p.state.Changed)
		}
	}
}

// TestTheOrderOfConditions verifies that conditions have the same order in all objects.
func TestTheOrderOfConditions(t *testing.T) {
	p := endingPass(WithKstatusConditions())
	p.mg, p.seenOwned = made(), true
	p.completeStatus(outcome{
		ready: commonv1.Available(), synced: commonv1.ReconcileSuccess(),
		upToDate: upToDate("False", commonv1.ReasonUpdateRequested), progress: moving,
	})
	var emitted []string
	for _, c := range p.mg.(*fake.Managed).Conditions {
		emitted = append(emitted, string(c.Type)+" "+string(c.Reason))
	}
	want := []string{
		"Created Observed", "Ready Available", "Synced ReconcileSuccess", "UpToDate UpdateRequested",
		"Reconciling UpdateRequested", "Stalled ReconcileSuccess",
	}
	if diff := cmp.Diff(want, emitted); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestTheLastWarningIsNotRepeated verifies that the last warning of each reason is not repeated, but an earlier one
// is.
func TestTheLastWarningIsNotRepeated(t *testing.T) {
	p := endingPass()
	for i, step := range []struct {
		reason   event.Reason
		says     string
		reported bool
	}{
		{reasonCannotUpdate, "no quota", true},
		{reasonCannotUpdate, "no quota", false},
		{reasonCannotObserve, "no quota", true},
		{reasonCannotUpdate, "no route", true},
		{reasonCannotUpdate, "no quota", true},
		{reasonCannotObserve, "no quota", false},
	} {
		p.events = nil
		err := errors.New(step.says)
		p.completeStatus(outcome{synced: commonv1.ReconcileError(err), event: event.Warning(step.reason, err)})
		if reported := len(p.events) == 1; reported != step.reported || len(p.events) > 1 {
			t.Errorf("step %d: %s: %s: told %+v", i, step.reason, step.says, p.events)
		}
	}
}

// TestMessagesThatDifferEachTimeStay verifies that a message with only volatile changes is kept, in any condition.
func TestMessagesThatDifferEachTimeStay(t *testing.T) {
	const before, now = "request 5f3d2c1b-aaaa-4000-8000-000000000001 has no effect",
		"request 5f3d2c1b-aaaa-4000-8000-000000000002 has no effect"
	as := func(text string) outcome {
		return outcome{
			ready: commonv1.Unavailable().WithMessage(text), synced: commonv1.ReconcileSuccess().WithMessage(text),
			upToDate: upToDate("False", commonv1.ReasonUpdateRequested).WithMessage(text),
		}
	}
	p := endingPass()
	p.completeStatus(as(before))
	p.read = clone(p.mg)
	p.completeStatus(as(now))
	for _, of := range []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate} {
		if got := p.mg.GetCondition(of).Message; got != before {
			t.Errorf("%s says %q", of, got)
		}
	}
}

// TestAnotherGenerationIsNoNews verifies that the same condition for another generation causes no event, also in a
// new process.
func TestAnotherGenerationIsNoNews(t *testing.T) {
	err := errors.New("no quota")
	o := outcome{synced: commonv1.ReconcileError(err), event: event.Warning(reasonCannotUpdate, err)}
	p := endingPass()
	p.completeStatus(o)
	p.read, p.generation, p.state.LastWarnings, p.events = clone(p.mg), 4, nil, nil
	if p.completeStatus(o); len(p.events) > 0 {
		t.Errorf("told %+v", p.events)
	}
}
