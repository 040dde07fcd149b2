package managed

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// Two attempts of the object "uid-1", an hour before noon and an hour after.
var (
	first  = fmt.Sprintf("%08x00000000", noon.Add(-time.Hour).Unix()) + ownID[1:]
	second = fmt.Sprintf("%08x00000000", noon.Add(time.Hour).Unix()) + ownID[1:]
)

// TestEarlier verifies that a record before the last known creation is recognized.
func TestEarlier(t *testing.T) {
	const succeeded, pending, failed = meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateFailed
	early, between, later := noon.Add(-2*time.Hour).Format(time.RFC3339), noon.Format(time.RFC3339),
		noon.Add(2*time.Hour).Format(time.RFC3339)
	by := func(mark string) map[string]string { return map[string]string{meta.AnnotationKeyCreateAttempt: mark} }
	done := func(mark string) *objectState {
		return remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: mark, Name: "vol-1"}})
	}
	called := remembering(objectstate.Attempts{Called: objectstate.Intent{Pending: later, Attempt: second}})
	created := func(status metav1.ConditionStatus, mark string) *commonv1.Condition {
		return &commonv1.Condition{
			Type: commonv1.TypeCreated, Status: status,
			Message: objectstate.CreationRef{Mark: mark, Name: "vol-1"}.String(),
		}
	}
	found, givenUp := created(metav1.ConditionTrue, second+"/succeeded"), created(metav1.ConditionFalse, second)
	found.LastTransitionTime, givenUp.Reason = metav1.NewTime(noon), commonv1.ReasonGivenUp
	merged := func(mark, name, at string) map[string]string {
		return map[string]string{
			meta.AnnotationKeyCreateAttempt: mark + "/succeeded",
			meta.AnnotationKeyExternalName:  name, succeeded: at, pending: at,
		}
	}
	random := fmt.Sprintf("%08x00000000", noon.Add(25*time.Hour).Unix()) + ownID[1:]
	cases := map[string]struct {
		reason  string
		state   *objectState
		created *commonv1.Condition
		marks   map[string]string
		want    bool
	}{
		"Unmarked": {"there is no record", done(second + "/succeeded"), nil, nil, false},
		"Unknown":  {"nothing is known", &objectState{}, nil, by(first), false},
		"UnknownTimes": {"nothing is known of what an earlier success was", &objectState{}, nil, map[string]string{
			meta.AnnotationKeyCreateAttempt: first, meta.AnnotationKeyExternalName: "vol-0", succeeded: early}, false},
		"Same":         {"it is the last", done(second + "/succeeded"), nil, by(second + "/succeeded"), false},
		"BeforeItsEnd": {"it is the last, before it ended", done(second + "/succeeded"), nil, by(second), true},
		"AfterItsEnd": {"it is the last, and failed by what is stored", done(second + "/succeeded"), nil,
			by(second + "/failed"), false},
		"BeforeItsFind": {"it is what led to what was found, before it ended", &objectState{}, found,
			map[string]string{meta.AnnotationKeyCreateAttempt: second, pending: early}, true},
		"Repeated": {"only with the same token it is begun again since", &objectState{}, found,
			map[string]string{meta.AnnotationKeyCreateAttempt: second, pending: later}, true},
		"FindOfAnother": {"what was found is another's", called, found, by(second + "/failed"), false},
		"NotFoundYet": {"nothing was found, and it succeeded", &objectState{},
			created(metav1.ConditionUnknown, second+"/succeeded"), by(second), true},
		"StillAsked": {"nothing is known of its result", &objectState{}, created(metav1.ConditionUnknown, second),
			by(second), false},
		"GivenUp": {"a user gave up the last", &objectState{}, givenUp, by(first), false},
		"Before": {"it succeeded before the last", done(second + "/succeeded"), nil, by(first + "/succeeded"),
			true},
		"FailedBefore":  {"it failed before the last", done(second + "/succeeded"), nil, by(first + "/failed"), true},
		"UnknownBefore": {"nobody knew what became of it", done(second + "/succeeded"), nil, by(first), true},
		"BeforeCalled":  {"the last is under way", called, nil, by(first + "/succeeded"), true},
		"Told": {"the condition knows it", &objectState{}, created(metav1.ConditionTrue, second+"/succeeded"),
			by(first + "/succeeded"), true},
		"Asked": {"the condition asks about it", &objectState{}, created(metav1.ConditionUnknown, second),
			by(first + "/succeeded"), true},
		"Since": {"it was begun since", done(first + "/succeeded"), nil, by(second), false},
		"SinceTold": {"it was begun since the condition was set", &objectState{},
			created(metav1.ConditionTrue, first+"/succeeded"), by(second), false},
		"Copied": {"it was made for another object", done(first + "/succeeded"), nil,
			by("ffffffff00000000-0badcafe/succeeded"), true},
		"CopiedStatus": {"so was what the condition says", &objectState{},
			created(metav1.ConditionTrue, "ffffffff00000000-0badcafe/succeeded"), by(first + "/succeeded"), false},
		"TheirsBefore": {"another runtime made it before", done(second + "/succeeded"), nil,
			map[string]string{succeeded: early, pending: early}, true},
		"TheirsSince": {"another runtime made it since", done(first + "/succeeded"), nil,
			map[string]string{succeeded: later}, false},
		"TheirsBegun": {"another runtime has begun since", done(first + "/succeeded"), nil,
			map[string]string{succeeded: early, pending: later}, false},
		"TheirsFailed": {"that it failed says nothing", done(second + "/succeeded"), nil,
			map[string]string{failed: early}, false},
		"OursSince": {"we made it, and the last is another runtime's", done(between), nil,
			by(second + "/succeeded"), false},
		"OursBefore":  {"we made it before another runtime did", done(between), nil, by(first + "/succeeded"), true},
		"TheirsTwice": {"both are another runtime's", done(later), nil, map[string]string{succeeded: early}, true},
		"Merged": {"another runtime's times were merged into it, with the name", done(second + "/succeeded"),
			nil, merged(second, "vol-0", between), true},
		"MergedNoName": {"the last has no name",
			remembering(objectstate.Attempts{Made: objectstate.CreationRef{Mark: second + "/succeeded"}}), nil,
			merged(second, "vol-0", between), true},
		"MergedTold": {"the condition knows the last", &objectState{},
			created(metav1.ConditionTrue, second+"/succeeded"), merged(second, "vol-0", between), true},
		"MergedAsked": {"the condition asks about the last", &objectState{},
			created(metav1.ConditionUnknown, second+"/succeeded"), merged(second, "vol-0", between), true},
		"MergedTimes": {"the times alone say nothing of the name", done(second + "/succeeded"), nil,
			merged(second, "vol-1", between), false},
		"Renamed": {"a user has chosen another name", done(second + "/succeeded"), nil,
			merged(second, "vol-0", noon.Add(time.Hour).Format(time.RFC3339)), false},
		"RenamedTheirs": {"the same of what another runtime made", done(between), nil,
			map[string]string{succeeded: between, meta.AnnotationKeyExternalName: "vol-0"}, false},
		"RenamedNoTime": {"the same, and the time is gone", done(second + "/succeeded"), nil, map[string]string{
			meta.AnnotationKeyCreateAttempt: second + "/succeeded",
			meta.AnnotationKeyExternalName:  "vol-0",
		}, false},
		"RenamedRandom": {"the same, and the id has no number", done(random + "/succeeded"), nil,
			merged(random, "vol-0", between), false},
		"RenamedNoId": {"the same, and the id was not made here", done("x/succeeded"), nil,
			merged("x", "vol-0", between), false},
		"NoNumber": {"an id that was not made here comes before any", done(first + "/succeeded"), nil, by("x"),
			true},
	}
	for id, tc := range cases {
		mg := bearing(tc.marks)
		if tc.created != nil {
			mg.SetConditions(*tc.created)
		}
		if got := passOf(mg, tc.state).earlier(); got != tc.want {
			t.Errorf("%s: %s: got %t", id, tc.reason, got)
		}
		again := passOf(mg, tc.state)
		again.r.tokens = true
		if got, want := again.earlier(), tc.want && id != "BeforeItsEnd" && id != "NotFoundYet" &&
			id != "Repeated"; got != want {
			t.Errorf("%s: %s, and may have been begun again: got %t", id, tc.reason, got)
		}
	}
}

// TestRemoveEarlier verifies that removing an earlier record keeps the external name that a user has set, if the
// name of the last creation is unknown.
func TestRemoveEarlier(t *testing.T) {
	older := map[string]string{
		meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyCreateAttempt: first + "/succeeded",
		meta.AnnotationKeyExternalCreatePending:   early,
		meta.AnnotationKeyExternalCreateSucceeded: early, meta.AnnotationKeyExternalCreateFailed: early, "color": "red",
	}
	seen := remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: second + "/succeeded", Name: "vol-1"}})
	called := remembering(objectstate.Attempts{Called: objectstate.Intent{Pending: later, Attempt: second}})
	asked := &commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionUnknown, Reason: commonv1.ReasonUnresolved,
		Message:            objectstate.CreationRef{Mark: second}.String(),
		LastTransitionTime: metav1.NewTime(noon),
	}
	for id, tc := range map[string]struct {
		state   *objectState
		created *commonv1.Condition
		want    map[string]string
		call    objectstate.Intent
	}{
		"Seen": {seen, nil, map[string]string{"color": "red"}, objectstate.Intent{}},
		"Called": {called, nil, map[string]string{meta.AnnotationKeyExternalName: "vol-0", "color": "red"},
			called.Called},
		"Asked": {&objectState{}, asked, map[string]string{meta.AnnotationKeyExternalName: "vol-0", "color": "red"},
			objectstate.Intent{Pending: noon.Format(time.RFC3339), Attempt: second}},
	} {
		mg := bearing(older)
		if tc.created != nil {
			mg.SetConditions(*tc.created)
		}
		p := passOf(mg, tc.state)
		if !p.removeEarlier() {
			t.Errorf("%s: nothing was removed", id)
		}
		if diff := cmp.Diff(tc.want, mg.GetAnnotations()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", id, diff)
		}
		if p.state.Called != tc.call {
			t.Errorf("%s: the memory knows of the call %+v, want %+v", id, p.state.Called, tc.call)
		}
		if p.removeEarlier() {
			t.Errorf("%s: what is not there was removed", id)
		}
	}
	failed := bearing(map[string]string{
		meta.AnnotationKeyExternalName:  "vol-0",
		meta.AnnotationKeyCreateAttempt: first + "/failed",
	})
	if !passOf(failed, called).removeEarlier() || meta.GetExternalName(failed) != "vol-0" {
		t.Errorf("of an attempt that made nothing the object keeps %v", failed.GetAnnotations())
	}
}

// TestNewAttempt verifies that the ids of an object's attempts grow, whatever the clock says.
func TestNewAttempt(t *testing.T) {
	number := func(of time.Time) string { return fmt.Sprintf("%08x800000000-", of.Unix()) + ownID[2:] }
	future := noon.Add(time.Hour)
	for id, tc := range map[string]struct {
		reason string
		state  *objectState
		marks  map[string]string
		want   string
	}{
		"First": {"it is the time", &objectState{}, nil, number(noon)},
		"After": {"the last was long ago", &objectState{},
			map[string]string{meta.AnnotationKeyCreateAttempt: first}, number(noon)},
		"Skewed": {"the last was begun by another clock", &objectState{},
			map[string]string{meta.AnnotationKeyCreateAttempt: number(future) + "/failed"},
			number(future.Add(time.Second))},
		"Theirs": {"so was that of another runtime", &objectState{},
			map[string]string{meta.AnnotationKeyExternalCreatePending: future.Format(time.RFC3339)},
			number(future.Add(time.Second))},
		"Last": {"no number is greater", &objectState{},
			map[string]string{meta.AnnotationKeyCreateAttempt: "ffffffff"}, "ffffffff800000000-" + ownID[2:]},
		"Remember": {"the record is gone",
			remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: number(future) + "/succeeded"}}),
			nil, number(future.Add(time.Second))},
	} {
		if got := passOf(bearing(tc.marks), tc.state).newAttempt(); got != tc.want {
			t.Errorf("%s: %s: got %s, want %s", id, tc.reason, got, tc.want)
		}
	}
}

// TestTheFirstTokenIsTheSame verifies that with tokens each process derives the same first id for an object without
// marks, because a replace may have removed the record. Later ids differ.
func TestTheFirstTokenIsTheSame(t *testing.T) {
	want := fmt.Sprintf("%08x000000002-", noon.Add(-time.Minute).Unix()) + ownID[2:]
	for id, tc := range map[string]struct {
		reason   string
		state    *objectState
		marks    map[string]string
		reported string
		now      func(*pass)
		want     bool
	}{
		"First": {"nothing shows that anything was begun", &objectState{}, nil, "", nil, true},
		"Failed": {"the first came to nothing", &objectState{},
			map[string]string{meta.AnnotationKeyCreateAttempt: want + "/failed"}, "", nil, false},
		"Theirs": {"another runtime has begun one", &objectState{},
			map[string]string{meta.AnnotationKeyExternalCreatePending: early}, "", nil, false},
		"Told": {"the condition Created tells of one", &objectState{}, nil,
			objectstate.CreationRef{Mark: want + "/succeeded", Name: "vol-1"}.String(), nil, false},
		"Remember": {"this process knows of one",
			remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: want + "/succeeded"}}), nil, "",
			nil, false},
		"Ageless": {"it is not known when the object was created", &objectState{}, nil, "",
			func(p *pass) { p.mg.SetCreationTimestamp(metav1.Time{}) }, false},
		"Opaque": {"a second call would lead to a second resource", &objectState{}, nil, "",
			func(p *pass) { p.r.tokens = false }, false},
		"Findable": {"what was created can be looked up", &objectState{}, nil, "",
			func(p *pass) { p.r.tokens, p.recoverer = false, searcher{} }, true},
	} {
		var ids []string
		for _, random := range []float64{0.25, 0.75} {
			mg := bearing(tc.marks)
			mg.SetCreationTimestamp(metav1.NewTime(noon.Add(-time.Minute)))
			mg.SetConditions(commonv1.Condition{
				Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Message: tc.reported,
			})
			p := passOf(mg, tc.state)
			p.r.tokens, p.r.random = true, func() float64 { return random }
			if tc.now != nil {
				tc.now(p)
			}
			ids = append(ids, p.newAttempt())
		}
		want := want
		if id == "Findable" {
			want = fmt.Sprintf("%08x000000003-", noon.Add(-time.Minute).Unix()) + ownID[2:]
		}
		if is := ids[0] == want && ids[1] == want; is != tc.want || !is && ids[0] == ids[1] {
			t.Errorf("%s: %s: two processes make the ids %v; that both are %s: want %t", id, tc.reason, ids, want,
				tc.want)
		}
	}
}

// TestWhichAttemptIsRepeated verifies that an attempt with an unknown or unobserved result is repeated if the same
// token leads to the same resource, but not one of another runtime.
func TestWhichAttemptIsRepeated(t *testing.T) {
	const attempt, pending, succeeded = meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending,
		meta.AnnotationKeyExternalCreateSucceeded
	begun, ended := map[string]string{attempt: ownID, pending: early}, map[string]string{attempt: ownDone}
	seen := objectstate.State{Resource: objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone}}}
	for id, tc := range map[string]struct {
		reason string
		marks  map[string]string
		state  objectstate.State
		tokens bool
		want   bool
	}{
		"First":   {"nothing was begun", nil, objectstate.State{}, true, false},
		"Unknown": {"its result is not known", begun, objectstate.State{}, true, true},
		"Unseen":  {"it succeeded, and does not show", ended, objectstate.State{}, true, true},
		"Seen":    {"what it made was found, and is gone", ended, seen, true, false},
		"Failed": {"it came to nothing", map[string]string{attempt: ownID + "/failed"}, objectstate.State{}, true,
			false},
		"Opaque": {"a second call would lead to a second resource", begun, objectstate.State{}, false, false},
		"Theirs": {"another runtime has begun it", map[string]string{pending: early}, objectstate.State{}, true,
			false},
		"Made": {"another runtime has made it", map[string]string{succeeded: early}, objectstate.State{}, true,
			false},
	} {
		p := passOf(bearing(tc.marks), remembering(tc.state))
		p.r.tokens = tc.tokens
		got := p.nextAttempt()
		if repeats := got == ownID; repeats != tc.want || p.repeatsAttempt != tc.want || got == "" {
			t.Errorf("%s: %s: the next is %q, repeats is %t", id, tc.reason, got, p.repeatsAttempt)
		}
	}
}

// TestAnotherClass verifies that an unknown attempt of another class is neither repeated nor looked up. Ids without
// a class, and attempts with a known result, do not count.
func TestAnotherClass(t *testing.T) {
	const attempt, pending, succeeded = meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending,
		meta.AnnotationKeyExternalCreateSucceeded
	id := func(class lifecycle.CreateClass) string {
		return fmt.Sprintf("%08x%08x%d-", noon.Unix(), 0, class) + ownID[2:]
	}
	begun := func(id string) map[string]string { return map[string]string{attempt: id, pending: early} }
	done := map[string]string{attempt: id(lifecycle.Opaque) + "/succeeded", pending: early, succeeded: early}
	tokens := func(p *pass) { p.r.tokens = true }
	for name, tc := range map[string]struct {
		reason string
		marks  map[string]string
		state  objectstate.State
		now    func(*pass)
		want   lifecycle.CreateClass
	}{
		"Same": {"the class is the same", begun(id(lifecycle.Token)), objectstate.State{}, tokens, lifecycle.Token},
		"Token": {"Create was not given the token", begun(id(lifecycle.Opaque)), objectstate.State{}, tokens,
			lifecycle.Opaque},
		"Searched": {"the system may not keep the token", begun(id(lifecycle.Findable)), objectstate.State{}, tokens,
			lifecycle.Opaque},
		"Named": {"it was given another name", begun(id(lifecycle.Opaque)), objectstate.State{},
			func(p *pass) { p.r.named = true }, lifecycle.Opaque},
		"Unseen": {"what it made does not show", done, objectstate.State{}, tokens, lifecycle.Opaque},
		"Seen": {"what it made was found", done,
			objectstate.State{Resource: objectstate.Resource{Seen: objectstate.CreationRef{Mark: done[attempt]}}},
			tokens, lifecycle.Token},
		"Failed": {"it came to nothing", map[string]string{attempt: id(lifecycle.Opaque) + "/failed"},
			objectstate.State{}, tokens, lifecycle.Token},
		"Before": {"the id does not tell a class", begun(ownID), objectstate.State{}, tokens, lifecycle.Token},
		"None":   {"nothing was begun", nil, objectstate.State{}, tokens, lifecycle.Token},
	} {
		p := passOf(bearing(tc.marks), remembering(tc.state))
		tc.now(p)
		if got := p.createClass(); got != tc.want {
			t.Errorf("%s: %s: got %s, want %s", name, tc.reason, got, tc.want)
		}
		if next := p.newAttempt(); p.otherClass(next) {
			t.Errorf("%s: the next attempt %s is of another class", name, next)
		}
	}
}

// TestUnended verifies that a restored API server that has an attempt as pending is recognized if the memory knows
// its end.
func TestUnended(t *testing.T) {
	done := remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone}})
	called := remembering(objectstate.Attempts{Called: objectstate.Intent{Attempt: ownID}})
	cases := map[string]struct {
		reason string
		state  *objectState
		mark   string
		want   bool
	}{
		"Unmarked":     {"there is no record", done, "", false},
		"Unknown":      {"nothing is known", &objectState{}, ownID, false},
		"Ended":        {"it has ended since", done, ownID, true},
		"StillUnknown": {"its result is not known here either", called, ownID, false},
		"Another":      {"another one is under way", done, "b", false},
		"Failed":       {"this one has failed", done, ownID + "/failed", false},
	}
	for id, tc := range cases {
		if got := passOf(bearing(map[string]string{meta.AnnotationKeyCreateAttempt: tc.mark}),
			tc.state).unended(); got != tc.want {
			t.Errorf("%s: %s: got %t", id, tc.reason, got)
		}
	}
}

// TestTellEarlier verifies that an earlier record is reported once with instructions, unless the object is paused.
func TestTellEarlier(t *testing.T) {
	paused := map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	for id, tc := range map[string]struct {
		marks    map[string]string
		before   map[string]string
		reported int
	}{
		"First": {nil, nil, 1},
		"Other": {nil, map[string]string{
			string(reasonRecordTaken): textTaken, textEarlier: string(reasonRecordTaken),
		}, 1},
		"Again":  {nil, map[string]string{string(reasonRecordTaken): textEarlier}, 0},
		"Paused": {paused, nil, 0},
	} {
		p := passOf(bearing(tc.marks), remembering(objectstate.Reports{LastWarnings: tc.before}))
		if p.warnRecordTaken(textEarlier); len(p.events) != tc.reported {
			t.Errorf("%s: told is %v", id, p.events)
		}
		for _, e := range p.events {
			if e.Type != event.TypeWarning || e.Reason != "CreationRecordTaken" || e.Message != textEarlier {
				t.Errorf("%s: told is %v", id, e)
			}
		}
	}
}

// TestGaveUp verifies that an abandoned creation and earlier ones are recognized by id, or by the times of another
// runtime.
func TestGaveUp(t *testing.T) {
	const attempt, pending, abandon = meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending,
		meta.AnnotationKeyAbandonAttempt
	by := func(mark string) map[string]string { return map[string]string{attempt: mark} }
	early, later := noon.Format(time.RFC3339), noon.Add(2*time.Hour).Format(time.RFC3339)
	foreign := "00000001" + foreignID[1:]
	for id, tc := range map[string]struct {
		reason string
		why    commonv1.ConditionReason
		mark   string
		marks  map[string]string
		want   bool
	}{
		"Same":       {"it is that one", "GivenUp", second, by(second), true},
		"SameResult": {"and succeeded", "GivenUp", second + "/succeeded", by(second + "/succeeded"), true},
		"Before":     {"it came before", "GivenUp", second, by(first + "/succeeded"), true},
		"Theirs": {"another runtime recorded it before", "GivenUp", second, map[string]string{pending: early},
			true},
		"TheirsSince": {"another runtime recorded it since", "GivenUp", second, map[string]string{pending: later},
			false},
		"Since":       {"it was begun since", "GivenUp", first, by(second), false},
		"Nothing":     {"there is no record", "GivenUp", second, nil, false},
		"Asked":       {"nobody has given it up", "Unresolved", second, by(second), false},
		"Found":       {"it was found", "Observed", second, by(second), false},
		"NoMark":      {"nobody knows what was given up", "GivenUp", "", by("x"), false},
		"Foreign":     {"it was made for another object", "GivenUp", second, by(foreign), false},
		"ForeignTold": {"what was given up was another object's", "GivenUp", foreign, by(foreign), false},
		"Abandoned": {"the record says so itself", "GivenUp", second,
			map[string]string{attempt: second, pending: early, abandon: second}, false},
	} {
		mg := bearing(tc.marks)
		mg.SetConditions(commonv1.Condition{
			Type: "Created", Reason: tc.why,
			Message: objectstate.CreationRef{Mark: tc.mark}.String(),
		})
		if got := passOf(mg, &objectState{}).gaveUp(); got != tc.want {
			t.Errorf("%s: %s: got %t", id, tc.reason, got)
		}
	}
}

// TestGiveUp verifies that an abandoned creation is forgotten, and the status says so.
func TestGiveUp(t *testing.T) {
	seen := objectstate.CreationRef{Mark: first + "/succeeded", Name: "vol-1"}
	for id, tc := range map[string]struct {
		created commonv1.Condition
		want    commonv1.Condition
	}{
		"Asked": {
			commonv1.Condition{
				Type: "Created", Status: "Unknown", Reason: "Unresolved",
				Message: objectstate.CreationRef{Mark: second}.String(),
			},
			commonv1.Condition{
				Type: "Created", Status: "False", Reason: "GivenUp",
				Message: objectstate.CreationRef{Mark: second}.String(),
			},
		},
		"Unasked": {
			commonv1.Condition{Type: "Created", Status: "True", Reason: "Observed", Message: seen.String()},
			commonv1.Condition{Type: "Created", Status: "True", Reason: "Observed", Message: seen.String()},
		},
	} {
		mg := bearing(nil)
		mg.SetConditions(tc.created)
		p := passOf(mg, remembering(objectstate.Resource{Seen: seen},
			objectstate.Attempts{Made: seen, Called: objectstate.Intent{Attempt: second}}))
		p.giveUp()
		if got := mg.GetCondition("Created"); !got.Equal(tc.want) {
			t.Errorf("%s: the status says %+v", id, got)
		}
		if p.state.Made != (objectstate.CreationRef{}) || p.state.Called != (objectstate.Intent{}) ||
			p.state.Seen != seen {
			t.Errorf("%s: the memory knows %+v, %+v", id, p.state.State, p.state.Cold)
		}
	}
}

// TestNothingIsRecollectedOfWhatIsNotEarlier verifies that the condition Created is used only after an earlier
// record was read.
func TestNothingIsRecollectedOfWhatIsNotEarlier(t *testing.T) {
	mg := bearing(map[string]string{meta.AnnotationKeyCreateAttempt: second})
	mg.SetConditions(commonv1.Condition{
		Type: "Created", Status: "Unknown", Reason: "Unresolved",
		Message: objectstate.CreationRef{Mark: first}.String(),
	})
	p := passOf(mg, &objectState{})
	if p.removeEarlier() || p.state.Called != (objectstate.Intent{}) {
		t.Errorf("the memory knows %+v", p.state.Cold)
	}
}

// TestAResultThatIsNotStoredIsNoEarlierRecord verifies that a result that this process could not store is not taken
// for an earlier record of another writer.
func TestAResultThatIsNotStoredIsNoEarlierRecord(t *testing.T) {
	by := func(mark string) map[string]string { return map[string]string{meta.AnnotationKeyCreateAttempt: mark} }
	for reason, tc := range map[string]struct {
		marks, unwritten map[string]string
		want             bool
	}{
		"it could not be stored":       {by(ownID), by(ownDone), true},
		"that was another attempt":     {by(first), by(ownDone), false},
		"it is stored":                 {by(ownDone), by(ownDone), false},
		"nothing is to be stored":      {by(ownID), nil, false},
		"neither is anything recorded": {nil, nil, false},
	} {
		o := remembering(objectstate.Attempts{Unwritten: tc.unwritten})
		if got := passOf(bearing(tc.marks), o).unstored(); got != tc.want {
			t.Errorf("%s: got %t", reason, got)
		}
	}
}

// TestTheRemovalOfAnEarlierRecordIsStored verifies that the removal of an earlier record is stored, although
// nothing replaces it.
func TestTheRemovalOfAnEarlierRecordIsStored(t *testing.T) {
	mg := bearing(map[string]string{meta.AnnotationKeyCreateAttempt: first + "/succeeded"})
	mg.SetConditions(commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionUnknown,
		Message: objectstate.CreationRef{Mark: second + "/succeeded"}.String(),
	})
	p := passOf(mg, &objectState{})
	if p.restore(); !p.restored || len(mg.GetAnnotations()) > 0 {
		t.Errorf("to be stored is %t, marked %v", p.restored, mg.GetAnnotations())
	}
}

// TestAnOperationOfAnotherProcessStays verifies that an unknown operation handle is kept.
func TestAnOperationOfAnotherProcessStays(t *testing.T) {
	for known, want := range map[string]string{"": "op-1", "op-2": "op-2"} {
		mg := bearing(map[string]string{meta.AnnotationKeyOperation: "op-1"})
		p := passOf(mg, remembering(objectstate.Attempts{Operation: known}))
		if restored := p.restoreOperation(); restored != (known != "") || operationOf(mg) != want {
			t.Errorf("known is %q: restored %t, the object says %q", known, restored, operationOf(mg))
		}
	}
}
