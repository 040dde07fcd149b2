package managed

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestBackoffDelay verifies that the backoff doubles from a second up to the interval.
func TestBackoffDelay(t *testing.T) {
	p := passOf(bearing(nil), &objectState{})
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := p.backoffDelay(time.Minute); got != want*time.Second {
			t.Errorf("wait %d is %s", i, got)
		}
	}
	p.state.Backoffs = math.MaxInt32
	if got := p.backoffDelay(maxPollInterval); got != time.Second<<20 {
		t.Errorf("after many it is %s", got)
	}
}

func TestJitter(t *testing.T) {
	for random, want := range map[float64]time.Duration{
		0: 9 * time.Second, 0.25: 9500 * time.Millisecond, 0.5: 10 * time.Second,
		1: 11 * time.Second,
	} {
		p := passOf(bearing(nil), &objectState{}, WithRandom(func() float64 { return random }))
		if got := p.jitter(10 * time.Second).Round(time.Microsecond); got != want {
			t.Errorf("with %g it is %s, want %s", random, got, want)
		}
		if got := p.jitter(0); got != time.Millisecond {
			t.Errorf("no wait is %s", got)
		}
	}
}

func TestDelayByOutcome(t *testing.T) {
	cases := map[string]struct {
		reason    string
		again     requeue
		searching time.Duration
		backoffs  int
		want      time.Duration
	}{
		"Poll":         {"nothing is expected", poll, 0, 0, time.Minute},
		"Slow":         {"nothing comes by itself", resync, 0, 0, 10 * time.Minute},
		"Growing":      {"it is tried again", backoff, 0, 2, 4 * time.Second},
		"ToResync":     {"the garbage collector deletes it", backoffToResync, 0, 9, 512 * time.Second},
		"Resync":       {"but it is tried as often as anything", backoffToResync, 0, 12, 10 * time.Minute},
		"Soon":         {"nobody knows since when it is busy", adaptive, 0, 3, 8 * time.Second},
		"AfterGrace":   {"the same", untilGrace, 0, 3, 8 * time.Second},
		"Searching":    {"a search may be expensive", untilGrace, time.Hour, 4, 32 * time.Second},
		"SearchesLast": {"but its end is not missed", untilGrace, 3 * time.Second, 4, 3 * time.Second},
	}
	for name, tc := range cases {
		p := passOf(bearing(nil), remembering(objectstate.Retries{Backoffs: tc.backoffs}))
		p.recoveryGrace = tc.searching
		if got := p.delay(tc.again); got != tc.want {
			t.Errorf("%s: %s: got %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}

// TestAdaptiveDelay verifies that a pending operation is observed after a tenth of its age.
func TestAdaptiveDelay(t *testing.T) {
	cases := map[string]struct {
		reason string
		age    time.Duration // negative: in the future
		random float64
		want   time.Duration
	}{
		"Long": {"a tenth of 100 s, less a second that times are cut to, and jitter", 100 * time.Second, 0.5,
			9 * time.Second},
		"Latest":  {"the jitter makes it no later than a tenth", 100 * time.Second, 1, 9900 * time.Millisecond},
		"Short":   {"a second at least", 5 * time.Second, 0.5, time.Second},
		"Hours":   {"the interval at most, less the jitter", 10 * time.Hour, 0.5, time.Minute * 10 / 11},
		"Skewed":  {"clocks differ by a second", -time.Second, 0.5, time.Second},
		"Set":     {"a clock that was set back says nothing", -2 * time.Second, 0.5, 4 * time.Second},
		"Unknown": {"nor does none", 0, 0.5, 4 * time.Second},
	}
	for name, tc := range cases {
		mg := bearing(nil)
		if tc.age != 0 {
			mg.SetConditions(commonv1.Condition{
				Type: commonv1.TypeReady, Status: metav1.ConditionFalse,
				LastTransitionTime: metav1.NewTime(noon.Add(-tc.age)),
			})
		}
		p := passOf(mg, remembering(objectstate.Retries{Backoffs: 2}),
			WithRandom(func() float64 { return tc.random }))
		if got := p.adaptiveDelay(time.Minute); got.Round(time.Millisecond) != tc.want.Round(time.Millisecond) {
			t.Errorf("%s: %s: got %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}

func TestBusySince(t *testing.T) {
	ready := func(status metav1.ConditionStatus) commonv1.Condition {
		return commonv1.Condition{
			Type: commonv1.TypeReady, Status: status,
			LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
		}
	}
	changed := objectstate.Instant(50 * time.Minute) // after the reconciler was made, ten minutes before noon
	deleted := metav1.NewTime(noon.Add(-5 * time.Minute))
	created := map[string]string{meta.AnnotationKeyExternalCreateSucceeded: noon.Add(-20 * time.Minute).Format(
		time.RFC3339)}
	cases := map[string]struct {
		reason  string
		was, is metav1.ConditionStatus
		marks   map[string]string
		changed objectstate.Instant
		deleted *metav1.Time
		want    time.Duration // before noon
	}{
		"Condition": {"since when it is not ready", metav1.ConditionFalse, metav1.ConditionFalse, nil, 0, nil,
			time.Hour},
		"Now": {"it has just ceased to be", metav1.ConditionTrue, metav1.ConditionFalse, nil, 0, nil, 0},
		"Created": {"it was created later", metav1.ConditionFalse, metav1.ConditionFalse, created, 0, nil,
			20 * time.Minute},
		"Changed": {"and changed", metav1.ConditionFalse, metav1.ConditionFalse, created, changed, nil,
			10 * time.Minute},
		"Unstored": {"no status is stored, so that it says nothing", "", metav1.ConditionFalse, created, changed,
			nil, 10 * time.Minute},
		"Deleted": {"and deleted", metav1.ConditionFalse, metav1.ConditionFalse, created, changed, &deleted,
			5 * time.Minute},
	}
	for name, tc := range cases {
		read, mg := bearing(tc.marks), bearing(tc.marks)
		if tc.was != "" {
			read.SetConditions(ready(tc.was))
		}
		mg.SetConditions(ready(tc.is))
		mg.SetDeletionTimestamp(tc.deleted)
		p := passOf(mg, remembering(objectstate.Retries{Changed: tc.changed}))
		p.read = read
		if got := noon.Sub(p.busySince()); got != tc.want {
			t.Errorf("%s: %s: got %s ago, want %s", name, tc.reason, got, tc.want)
		}
	}
}

func TestOwnInterval(t *testing.T) {
	for asked, want := range map[string]time.Duration{
		"": time.Minute, "30s": 30 * time.Second, "1ms": time.Second, "100000h": maxPollInterval,
		"often": time.Minute, "-1s": time.Minute,
	} {
		if got := passOf(bearing(map[string]string{meta.AnnotationKeyPollInterval: asked}),
			&objectState{}).interval(); got != want {
			t.Errorf("asked for %q, the interval is %s", asked, got)
		}
	}
}

// TestAnInvalidPollIntervalIsReportedOnce verifies that an invalid poll interval is reported once, and again after
// a valid or another one.
func TestAnInvalidPollIntervalIsReportedOnce(t *testing.T) {
	p := passOf(bearing(nil), &objectState{})
	for i, step := range []struct {
		asked   string
		reports int
	}{{"", 0}, {"often", 1}, {"often", 1}, {"seldom", 2}, {"1s", 2}, {"seldom", 3}} {
		p.mg.SetAnnotations(map[string]string{meta.AnnotationKeyPollInterval: step.asked})
		if p.checkPollInterval(); len(p.events) != step.reports {
			t.Errorf("step %d: %d events, want %d", i, len(p.events), step.reports)
		}
	}
	if e := p.events[0]; e.Type != event.TypeWarning || e.Reason != reasonInvalidPollInterval {
		t.Errorf("told %s/%s", e.Type, e.Reason)
	}
}

// TestDroppedChanges verifies that an unstored status change is sent again with backoff, and another one at once.
func TestDroppedChanges(t *testing.T) {
	p := passOf(bearing(nil), &objectState{})
	condition := func(message string, at time.Time) []commonv1.Condition {
		return []commonv1.Condition{{
			Type: commonv1.TypeReady, Message: message, LastTransitionTime: metav1.NewTime(at),
		}}
	}
	base := objectjson.Status{Fields: map[string]any{"size": int64(1)}, Conditions: condition("a", noon)}
	change := map[string]any{"used": int64(2), "conditions": condition("b", noon)}
	if p.prunedBefore(base, change) {
		t.Error("nothing was dropped yet")
	}
	for times, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		p.recordPruned(base, change)
		if got := p.state.Dropped.Until.Sub(noon); got != want || p.state.Dropped.Times != times+1 {
			t.Errorf("dropped %d times, it waits for %s, want %s", p.state.Dropped.Times, got, want)
		}
	}
	if !p.prunedBefore(base, map[string]any{"used": int64(2), "conditions": condition("b", noon.Add(time.Hour))}) {
		t.Error("another time of a condition is taken for another change")
	}
	if !p.prunedBefore(objectjson.Status{Fields: base.Fields, Conditions: condition("a", noon.Add(time.Hour))}, change) {
		t.Error("another time of a condition that is there is taken for another change")
	}
	for what, other := range map[string]bool{
		"another condition is there": p.prunedBefore(objectjson.Status{Fields: base.Fields,
			Conditions: condition("c", noon)}, change),
		"another field is there": p.prunedBefore(objectjson.Status{
			Fields: map[string]any{"size": int64(2)}, Conditions: base.Conditions,
		}, change),
		"another condition is sent": p.prunedBefore(base,
			map[string]any{"used": int64(2), "conditions": condition("c", noon)}),
		"another field is sent": p.prunedBefore(base,
			map[string]any{"used": int64(3), "conditions": condition("b", noon)}),
	} {
		if other {
			t.Errorf("%s, and it is not sent", what)
		}
	}
	p.state.Dropped.Until = noon
	if p.prunedBefore(base, change) {
		t.Error("its time has come, and it is not sent")
	}
	p.state.Dropped.Times = math.MaxInt32
	if p.recordPruned(base, change); p.state.Dropped.Until.Sub(noon) != time.Minute<<20 {
		t.Errorf("after many times it waits for %s", p.state.Dropped.Until.Sub(noon))
	}
	if p.recordPruned(base, map[string]any{"used": int64(3)}); p.state.Dropped.Times != 1 ||
		p.state.Dropped.Until.Sub(noon) != time.Minute {
		t.Errorf("another change inherits the wait: %+v", p.state.Dropped)
	}
}

// TestWorthWriting verifies that volatile fields are written with others, or once in an interval.
func TestWorthWriting(t *testing.T) {
	used, size := map[string]any{"used": 1}, map[string]any{"used": 1, "size": 1}
	ago := func(d time.Duration) *objectState {
		return remembering(objectstate.Reports{VolatileWritten: noon.Add(-d)})
	}
	cases := map[string]struct {
		reason   string
		state    *objectState
		interval time.Duration
		patch    map[string]any
		want     bool
	}{
		"Nothing":  {"nothing differs", ago(time.Hour), time.Minute, nil, false},
		"Others":   {"something else differs", ago(0), time.Minute, size, true},
		"First":    {"the interval begins now", &objectState{}, time.Minute, used, false},
		"Within":   {"it has not passed", ago(time.Minute - 1), time.Minute, used, false},
		"After":    {"it has passed", ago(time.Minute), time.Minute, used, true},
		"Never":    {"there is none", ago(time.Hour), 0, used, false},
		"NotTwice": {"not even a moment ago", ago(0), 0, used, false},
	}
	for name, tc := range cases {
		p := passOf(bearing(nil), tc.state, WithVolatileStatus("used"), WithVolatileStatusInterval(tc.interval))
		if got := p.worthWriting(objectjson.Status{}, tc.patch); got != tc.want || p.state.VolatileWritten.IsZero() {
			t.Errorf("%s: %s: got %t; written at %s", name, tc.reason, got, p.state.VolatileWritten)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	after := external.RetryAfter(10*time.Second, errors.New("busy"))
	for random, want := range map[float64]time.Duration{
		0: 10 * time.Second, 0.5: 10500 * time.Millisecond, 1: 11 * time.Second,
	} {
		if got := retryAfter(after, random); got != want {
			t.Errorf("with %g it is %s, want %s", random, got, want)
		}
	}
	if got := retryAfter(errors.New("busy"), 1); got != 0 {
		t.Errorf("an error that does not say when is tried after %s", got)
	}
}

// A searcher is a client that can look up what it created.
type searcher struct{}

func (searcher) RecoverCreation(context.Context, resource.Managed, string) (bool, error) {
	return false, nil
}
func (searcher) RecoveryWindow() time.Duration { return 0 }

// TestRecreationDelay verifies that a missing resource that can be looked up is recreated with backoff.
func TestRecreationDelay(t *testing.T) {
	deleted := bearing(nil)
	deleted.SetDeletionTimestamp(&metav1.Time{Time: noon})
	cases := map[string]struct {
		reason    string
		mg        resource.Managed
		recoverer CreationRecoverer
		unfound   int
		want      time.Duration
	}{
		"First":      {"nothing was lost yet", bearing(nil), searcher{}, 0, 0},
		"Second":     {"one was", bearing(nil), searcher{}, 1, 10 * time.Minute},
		"Third":      {"and another", bearing(nil), searcher{}, 2, 20 * time.Minute},
		"Many":       {"a day at most", bearing(nil), searcher{}, 9, 24 * time.Hour},
		"TooMany":    {"whatever is doubled", bearing(nil), searcher{}, 1000, 24 * time.Hour},
		"Opaque":     {"what nobody can look for is waited for otherwise", bearing(nil), nil, 1, 0},
		"Deleted":    {"nothing is made for what goes", deleted, searcher{}, 1, 0},
		"Repeated":   {"where it leads to the same it is as rare", bearing(nil), nil, 2, 20 * time.Minute},
		"Repeating":  {"but for an hour at most", bearing(nil), nil, 1000, time.Hour},
		"Unresolved": {"what is not known is looked for anyway", marked(early, "", "", "a"), searcher{}, 1, 0},
	}
	for name, tc := range cases {
		p := passOf(tc.mg, remembering(objectstate.Attempts{Unfound: tc.unfound}))
		p.recoverer, p.r.named = tc.recoverer, name == "Repeated" || name == "Repeating"
		if got := p.recreationDelay(); got != tc.want {
			t.Errorf("%s: %s: got %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}

// TestUnchanged verifies that a terminal error is rechecked when its cause may have changed, and at once after a
// known change.
func TestUnchanged(t *testing.T) {
	stop := objectstate.Stop{Version: "1", Revision: "r", Due: noon, Until: noon.Add(time.Second)}
	cases := map[string]struct {
		reason string
		change func(*objectstate.Stop)
		want   bool
	}{
		"Same":     {"it is due, and nothing has changed", func(*objectstate.Stop) {}, true},
		"Early":    {"an event has woken it", func(s *objectstate.Stop) { s.Due = noon.Add(1) }, false},
		"Late":     {"it is time for a look", func(s *objectstate.Stop) { s.Until = noon }, false},
		"Version":  {"the object is another", func(s *objectstate.Stop) { s.Version = "0" }, false},
		"Revision": {"the credentials are", func(s *objectstate.Stop) { s.Revision = "s" }, false},
		"None":     {"it did not stop", func(s *objectstate.Stop) { *s = objectstate.Stop{} }, false},
	}
	for name, tc := range cases {
		mg := bearing(nil)
		mg.SetResourceVersion("1")
		s := stop
		tc.change(&s)
		p := passOf(mg, remembering(objectstate.Retries{Stop: s}))
		p.connection.Revision = "r"
		if got := p.causeUnchanged(); got != tc.want {
			t.Errorf("%s: %s: got %t", name, tc.reason, got)
		}
	}
}

func TestAwaitCause(t *testing.T) {
	mg := bearing(nil)
	mg.SetResourceVersion("1")
	p := passOf(mg, &objectState{})
	if got := p.waitForChange(outcome{requeue: resync}); got != 10*time.Minute || p.state.Stop != (objectstate.Stop{}) {
		t.Errorf("of a connection without a revision it waits for %s, and notes %+v", got, p.state.Stop)
	}
	p.connection.Revision = "r"
	want := objectstate.Stop{Version: "1", Revision: "r", Due: noon.Add(time.Minute), Until: noon.Add(10 * time.Minute)}
	if got := p.waitForChange(outcome{requeue: resync}); got != time.Minute || p.state.Stop != want {
		t.Errorf("it waits for %s, and notes %+v", got, p.state.Stop)
	}
	p.state.Stop.Until = noon.Add(time.Second)
	if got := p.recheckTerminal(); got != time.Second || !p.state.Stop.Due.Equal(noon.Add(time.Second)) ||
		p.outcomeLabel != "awaiting-cause" {
		t.Errorf("the last look is after %s, due at %s, of the pass %q", got, p.state.Stop.Due, p.outcomeLabel)
	}
	p.state.Stop.Until = noon
	if got := p.recheckTerminal(); got != time.Millisecond {
		t.Errorf("a look that is due is after %s", got)
	}
}
