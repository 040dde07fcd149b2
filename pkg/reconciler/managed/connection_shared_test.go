package managed

import (
	"context"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// TestAGateLearnsHowACallEnded verifies that a gate counts the result of each call, but not of one that was not
// begun or panicked.
func TestAGateLearnsHowACallEnded(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct{ answer, learns error }{
		"well":      {nil, nil},
		"failed":    {boom, boom},
		"not begun": {errors.Errorf("%w: not now", errFenced), context.Canceled},
	} {
		var learnt []error
		p := passOf(bearing(nil), &objectState{})
		err := p.call(func(err error) { learnt = append(learnt, err) }, func() error { return tc.answer })
		if !errors.Is(err, tc.answer) || len(learnt) != 1 || !errors.Is(learnt[0], tc.learns) ||
			(learnt[0] == nil) != (tc.learns == nil) {
			t.Errorf("%s: it ended with %v, and is learnt as %v", name, err, learnt)
		}
	}
	var learnt error
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic is lost")
			}
		}()
		_ = passOf(bearing(nil), &objectState{}).call(func(err error) { learnt = err }, func() error { panic("boom") })
	}()
	if !errors.Is(learnt, context.Canceled) {
		t.Errorf("a panic is learnt as %v", learnt)
	}
}

// TestACallWithoutLeaveIsNotMade verifies that a call without a token is not made, and that the object keeps its
// reservation unless its connection changes. A call that continues an operation is made.
func TestACallWithoutLeaveIsNotMade(t *testing.T) {
	set := gates.NewSet(gates.WithRate(0.1, 0.1, 0.1), gates.WithMaxWait(0))
	for _, call := range []string{"Observe", "Update", "Delete"} {
		mg := bearing(nil)
		mg.SetNamespace("apps")
		p := passOf(mg, &objectState{}, WithLimits(set))
		p.connection = Connection{Name: call, Revision: "1"}
		p.bindConnection()
		kept := &keptContext{}
		do := callsOf(rateLimitedClient{kept, p})[call]
		for begun := 0; begun < 5; begun++ { // as long as it goes on with what has begun
			if err := do(t.Context()); err != nil || len(kept.called) != begun+1 || !p.permitted ||
				p.state.reservation != nil {
				t.Errorf("%s %d: it ended with %v after the calls %v", call, begun, err, kept.called)
			}
		}
		next := passOf(mg, p.state, WithLimits(set))
		next.connection = p.connection
		next.bindConnection()
		kept = &keptContext{}
		if err := callsOf(rateLimitedClient{kept, next})[call](t.Context()); !gates.IsHeld(err) ||
			kept.called != nil || next.permitted {
			t.Errorf("%s: it ended with %v after the calls %v", call, err, kept.called)
		}
		want := gates.Request{Namespace: "apps", Object: "uid-1"}
		held := next.state.reservation
		if held == nil || held.gate != next.gate || held.of.Namespace != want.Namespace ||
			held.of.Object != want.Object {
			t.Errorf("%s: the turn is %+v, want that of %+v", call, held, want)
		}
		next.bindConnection()
		if next.state.reservation != held {
			t.Errorf("%s: its turn is lost on the same connection", call)
		}
		next.connection.Name = "another for " + call
		if next.bindConnection(); next.state.reservation != nil {
			t.Errorf("%s: its turn is kept on another connection", call)
		}
	}
	p := passOf(bearing(nil), &objectState{}, WithLimits(set))
	p.bindConnection()
	if p.connection.Name != "default" || p.gate != set.Gate("default") {
		t.Errorf("the connection of an object without a configuration is %q", p.connection.Name)
	}
	none := passOf(bearing(nil), &objectState{})
	none.bindConnection()
	if release, err := none.acquirePermit(t.Context()); err != nil || none.gate != nil || !none.permitted {
		t.Errorf("without limits: %v", err)
	} else {
		release(nil)
	}
}

// TestWhyThereIsNoClient verifies that a Connect failure counts as a call over the connection, unless it is caused
// by the object, and only once.
func TestWhyThereIsNoClient(t *testing.T) {
	down := external.Unavailable(errors.New("no route"))
	clock := passOf(bearing(nil), &objectState{}).r.clock
	for name, tc := range map[string]struct {
		limits bool
		err    error
		calls  uint64
		gated  bool
	}{
		"its own":        {true, errors.New("boom"), 0, false},
		"without limits": {false, down, 0, false},
		"down":           {true, down, 1, true},
	} {
		set := gates.NewSet(gates.WithClock(clock))
		p := passOf(bearing(nil), &objectState{})
		if tc.limits {
			p.r.limits = set
		}
		err := p.connectFailed(t.Context(), tc.err)
		calls := uint64(0)
		for _, s := range set.States() {
			calls += s.Calls
		}
		if !errors.Is(err, tc.err) || calls != tc.calls || (p.gate != nil) != tc.gated ||
			(p.connection.Name == "default") != tc.gated {
			t.Errorf("%s: %v, %d calls, over %q", name, err, calls, p.connection.Name)
		}
	}
	set := gates.NewSet(gates.WithClock(clock), gates.WithRate(0.1, 0.1, 0.1), gates.WithMaxWait(0),
		gates.WithBreaker(3, time.Minute, time.Minute))
	p := passOf(bearing(nil), &objectState{}, WithLimits(set))
	for i := range 3 { // Connect is not held to the pace
		if err := p.connectFailed(t.Context(), down); !errors.Is(err, down) {
			t.Errorf("%d: %v", i, err)
		}
	}
	held := p.connectFailed(t.Context(), down)
	if !gates.IsHeld(held) || !external.IsUnavailable(held) {
		t.Errorf("what is known to be down is told as %v", held)
	}
	before := set.States()[0]
	next := passOf(bearing(nil), &objectState{}, WithLimits(set))
	if err := next.connectFailed(t.Context(), held); !errors.Is(err, held) || next.gate != set.Gate("default") ||
		set.States()[0].Calls != before.Calls || set.States()[0].Held != before.Held {
		t.Errorf("what the gates have said counts again: %v, %+v", err, set.States()[0])
	}
}

// TestWhatHoldsAnObjectBack verifies that an object reports throttling if its user waits, and for more than a
// moment.
func TestWhatHoldsAnObjectBack(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason  string
		err     error
		urgency lifecycle.Priority
		after   time.Duration
		synced  commonv1.ConditionReason
		says    string
	}{
		"Poll": {"nobody waits", external.Unavailable(boom), lifecycle.Poll, time.Second, "", ""},
		"Throttled": {"for long", external.Throttled("", 10*time.Second, boom), lifecycle.User, 10 * time.Second,
			commonv1.ReasonThrottled, "waiting for a turn"},
		"ForAMoment": {"not worth a word", external.Throttled("", 9*time.Second, boom), lifecycle.User,
			9 * time.Second, "", ""},
		"Unavailable": {"it is down", external.Unavailable(boom), lifecycle.User, time.Second,
			commonv1.ReasonExternalSystemUnavailable, "unavailable: waiting until it is back; last error: boom"},
		"Unauthorized": {"the credentials are not accepted", external.Unauthorized(boom), lifecycle.User,
			time.Second, commonv1.ReasonUnauthorized, "correct those of the ProviderConfig; last error: boom"},
		"Both": {"without credentials nobody knows what works",
			external.Unauthorized(external.Unavailable(boom)), lifecycle.User, time.Second,
			commonv1.ReasonUnauthorized, "credentials"},
	}
	for name, tc := range cases {
		p := passOf(bearing(nil), &objectState{})
		p.priority, p.gate = tc.urgency, gates.New(gates.WithClock(p.r.clock))
		o := p.throttled(tc.err)
		if o.name != "held" || o.after != tc.after || o.progress != moving || !o.unfinished ||
			o.requeue != backoff || o.synced.Reason != tc.synced {
			t.Errorf("%s: %s: got %+v", name, tc.reason, o)
		}
		if text := o.synced.Message; (text == "") != (tc.says == "") ||
			!strings.HasSuffix(text, tc.says) && name != "Both" {
			t.Errorf("%s: it says %q", name, text)
		}
		if tc.synced == commonv1.ReasonThrottled && strings.Contains(o.synced.Message, "boom") {
			t.Errorf("%s: what is asked for too often is told: %q", name, o.synced.Message)
		}
	}

	p := passOf(bearing(nil), &objectState{})
	if p.gate = gates.New(gates.WithClock(p.r.clock)); p.throttledMessage(commonv1.ReasonUnauthorized,
		external.Unauthorized(errors.New(""))) != textsHeld[commonv1.ReasonUnauthorized] {
		t.Error("a cause that says nothing is told")
	}
	long := p.causeOf(external.Unavailable(errors.New(strings.Repeat("x", 2000))))
	if n := len(long); n > 512 || n < 400 {
		t.Errorf("%d bytes of a cause are told", n)
	}
	for range 5 { // until it is known to be down
		if release, err := p.gate.Acquire(t.Context(),
			gates.Request{Message: func(error) string { return "of the first" }}); err == nil {
			release(external.Unavailable(boom))
		}
	}
	_, held := p.gate.Acquire(t.Context(), gates.Request{})
	p.priority = lifecycle.User
	if o := p.throttled(held); !gates.IsHeld(held) || !strings.HasSuffix(o.synced.Message, "last error: of the first") {
		t.Errorf("of %v it says %q", held, o.synced.Message)
	}
	p.gate = gates.New(gates.WithClock(p.r.clock))
	for range 5 { // the reason may be unknown
		if release, err := p.gate.Acquire(t.Context(), gates.Request{}); err == nil {
			release(external.Unavailable(boom))
		}
	}
	if _, held := p.gate.Acquire(t.Context(),
		gates.Request{}); p.throttledMessage(commonv1.ReasonExternalSystemUnavailable,
		held) != textsHeld[commonv1.ReasonExternalSystemUnavailable] {
		t.Errorf("of %v it says %q", held, p.throttledMessage(commonv1.ReasonExternalSystemUnavailable, held))
	}
}

// TestAStopWithoutARevision verifies that a terminal error without a known revision is rechecked in every pass.
func TestAStopWithoutARevision(t *testing.T) {
	mg := bearing(nil)
	mg.SetResourceVersion("1")
	p := passOf(mg, remembering(objectstate.Retries{Stop: objectstate.Stop{Version: "1", Due: noon,
		Until: noon.Add(time.Second)}}))
	if p.causeUnchanged() {
		t.Error("nothing is known of the credentials, and nothing has changed")
	}
	p.nextPriority = lifecycle.User
	if p.recheckTerminal(); p.nextPriority != lifecycle.Poll {
		t.Errorf("the next pass is as urgent as %v", p.nextPriority)
	}
}

// TestTextsThatStaySteady verifies that volatile parts of a message are no change, in any condition.
func TestTextsThatStaySteady(t *testing.T) {
	const was, is, other = "denied: request id: 7f3a1b2c-0000-4000-8000-000000000001", "denied: request id: " +
		"7f3a1b2c-0000-4000-8000-000000000002", "denied: no such user"
	for _, of := range []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate} {
		for name, tc := range map[string]struct {
			now  commonv1.Condition
			want string
		}{
			"the same":         {commonv1.Condition{Status: "False", Reason: "a", Message: is}, was},
			"another text":     {commonv1.Condition{Status: "False", Reason: "a", Message: other}, other},
			"another reason":   {commonv1.Condition{Status: "False", Reason: "b", Message: is}, is},
			"another status":   {commonv1.Condition{Status: "True", Reason: "a", Message: is}, is},
			"to the last word": {commonv1.Condition{Status: "False", Reason: "a", Message: was}, was},
		} {
			read, mg := bearing(nil), bearing(nil)
			read.SetConditions(commonv1.Condition{Type: of, Status: "False", Reason: "a", Message: was})
			tc.now.Type = of
			mg.SetConditions(tc.now)
			p := passOf(mg, &objectState{})
			p.read = read
			if p.stabilizeMessages(); mg.GetCondition(of).Message != tc.want ||
				mg.GetCondition(of).Status != tc.now.Status || len(mg.Conditions) != 1 {
				t.Errorf("%s: %s: %+v", of, name, mg.Conditions)
			}
		}
	}
}
