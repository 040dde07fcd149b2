package managed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestRestore verifies that the record of a creation is restored from the question, the marks and the memory, with
// a warning if it was removed or replaced.
func TestRestore(t *testing.T) {
	const (
		name, attempt, noted = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt,
			meta.AnnotationKeyWasUnresolved
		pending, succeeded, fails = meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
			meta.AnnotationKeyExternalCreateFailed
	)
	at := noon.Add(-time.Minute)
	since := at.Format(time.RFC3339)
	asks := func(text string) commonv1.Condition {
		return commonv1.Condition{Type: "Synced", Status: "False", Reason: "CreationUnresolved", Message: text}
	}
	about := func(mark, name string) commonv1.Condition {
		return commonv1.Condition{
			Type: "Created", Status: "Unknown", Reason: "Unresolved",
			Message: objectstate.CreationRef{Mark: mark, Name: name}.String(), LastTransitionTime: metav1.NewTime(at),
		}
	}
	seen := objectstate.CreationRef{Mark: second + "/succeeded", Name: "vol-1"}
	called := objectstate.Intent{Pending: early, Attempt: second}
	held := []string{FinalizerName}
	nameless := objectstate.CreationRef{Mark: seen.Mark}
	gaveUp := about(second, "")
	gaveUp.Status, gaveUp.Reason = "False", "GivenUp"
	begun := noon.Add(time.Hour).Format(time.RFC3339) // the number of the second attempt
	third := objectstate.Intent{
		Pending: noon.Add(2 * time.Hour).Format(time.RFC3339),
		Attempt: fmt.Sprintf("%08x00000000", noon.Add(2*time.Hour).Unix()) + ownID[1:],
	}
	made := objectstate.CreationRef{Mark: third.Attempt + "/succeeded", Name: "vol-2"}
	cases := map[string]struct {
		reason     string
		state      *objectState
		conditions []commonv1.Condition
		marks      map[string]string
		finalizers []string
		want       map[string]string // nil: as they were
		remembers  objectstate.Cold  // what it knows afterwards of a call, and of what was made
		message    string            // of the warning
	}{
		"Untouched": {
			reason: "what is there is left", state: remembering(objectstate.Resource{Seen: seen}),
			marks: map[string]string{name: "vol-1", attempt: seen.Mark, succeeded: early},
		},
		"Taken": {
			reason: "a replace takes the record of what was observed",
			state:  remembering(objectstate.Resource{Seen: seen}),
			conditions: []commonv1.Condition{{
				Type: "Created", Status: "True", Message: seen.String(),
				LastTransitionTime: metav1.NewTime(at),
			}},
			want: map[string]string{name: "vol-1", attempt: seen.Mark, succeeded: begun},
		},
		"TakenCall": {
			reason:    "and of an attempt whose result is not known",
			state:     remembering(objectstate.Attempts{Called: called}),
			want:      map[string]string{pending: early, attempt: second},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Called: called}},
		},
		"Begun": {
			reason: "another process may have called for it", state: &objectState{},
			marks:     map[string]string{pending: early, attempt: second},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Called: called}},
		},
		"Earlier": {
			reason: "the record of an earlier creation gives way",
			state:  remembering(objectstate.Resource{Seen: seen}),
			conditions: []commonv1.Condition{{
				Type: "Created", Status: "True", Message: seen.String(),
				LastTransitionTime: metav1.NewTime(at),
			}},
			marks:   map[string]string{name: "vol-0", attempt: first + "/succeeded", succeeded: early, fails: early},
			want:    map[string]string{name: "vol-1", attempt: seen.Mark, succeeded: begun},
			message: fmt.Sprintf(textEarlierNamed, "vol-0"),
		},
		"Asked": {
			reason:     "all is gone, and nobody has answered: what the process knows is put back",
			state:      remembering(objectstate.Attempts{Called: called}),
			conditions: []commonv1.Condition{asks(textUnresolved), about(second, "")}, finalizers: held,
			want:      map[string]string{pending: early, attempt: second, noted: notedTaken},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Called: called}}, message: textTaken,
		},
		"AskedBefore": {
			reason: "or what the condition says of an attempt", state: &objectState{},
			conditions: []commonv1.Condition{asks(textUnresolved + "; more"), about(second, "")}, finalizers: held,
			want: map[string]string{pending: since, attempt: second, noted: notedTaken},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Called: objectstate.Intent{Pending: since,
				Attempt: second}}},
			message: textTaken,
		},
		"AskedOfWhatWasMade": {
			reason: "or of what was made and never found", state: &objectState{},
			conditions: []commonv1.Condition{asks(textUnseen), about(seen.Mark, seen.Name)}, finalizers: held,
			want:      map[string]string{name: "vol-1", attempt: seen.Mark, succeeded: begun, noted: notedTaken},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Made: seen}}, message: textTaken,
		},
		"AskedWithoutAName": {
			reason: "also of what has no name", state: &objectState{},
			conditions: []commonv1.Condition{asks(textNameless), about(seen.Mark, "")}, finalizers: held,
			want:      map[string]string{attempt: seen.Mark, succeeded: begun, noted: notedTaken},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Made: objectstate.CreationRef{Mark: seen.Mark}}},
			message:   textTaken,
		},
		"Answered": {
			reason:     "who leaves the note has answered",
			state:      remembering(objectstate.Attempts{Called: called, Made: seen}),
			conditions: []commonv1.Condition{asks(textUnresolved), about(second, "")},
			marks:      map[string]string{noted: notedAsked},
		},
		"AnsweredByTheTime": {
			reason:     "so has who leaves the id",
			state:      remembering(objectstate.Attempts{Called: called}),
			conditions: []commonv1.Condition{asks(textUnresolved), about(second, "")},
			marks:      map[string]string{attempt: second},
		},
		"AnsweredOverEarlier": {
			reason: "what is left of an earlier creation is no reason to ask again", state: &objectState{},
			conditions: []commonv1.Condition{asks(textUnresolved), about(second, "")},
			marks:      map[string]string{noted: notedAsked, fails: early, attempt: first + "/failed"},
		},
		"AnsweredOverOneThatWasSeen": {
			reason:     "nor to put back what was seen before it",
			state:      remembering(objectstate.Resource{Seen: seen}, objectstate.Attempts{Called: third}),
			conditions: []commonv1.Condition{asks(textUnresolved), about(third.Attempt, "")},
			marks:      map[string]string{noted: notedAsked, fails: early, attempt: first + "/failed"},
		},
		"Merged": {
			reason: "the times and the name of another runtime give way",
			state:  remembering(objectstate.Resource{Seen: seen}),
			conditions: []commonv1.Condition{{
				Type: "Created", Status: "True", Message: seen.String(),
				LastTransitionTime: metav1.NewTime(at),
			}},
			marks:   map[string]string{name: "vol-0", attempt: seen.Mark, pending: since, succeeded: since},
			want:    map[string]string{name: "vol-1", attempt: seen.Mark, succeeded: begun},
			message: fmt.Sprintf(textEarlierNamed, "vol-0"),
		},
		"MergedUnseen": {
			reason: "so they do while the condition asks about what was never found", state: &objectState{},
			conditions: []commonv1.Condition{asks(textUnseen), about(seen.Mark, seen.Name)},
			marks:      map[string]string{name: "vol-0", attempt: seen.Mark, pending: since, succeeded: since},
			want:       map[string]string{name: "vol-1", attempt: seen.Mark, succeeded: begun},
			remembers:  objectstate.Cold{Attempts: objectstate.Attempts{Made: seen}},
			message:    fmt.Sprintf(textEarlierNamed, "vol-0"),
		},
		"MergedNameless": {
			reason: "the last has no name", state: remembering(objectstate.Resource{Seen: nameless}),
			marks: map[string]string{name: "vol-0", attempt: seen.Mark, pending: since, succeeded: since},
			want:  map[string]string{attempt: seen.Mark, succeeded: begun}, message: textEarlier,
		},
		"GivenUp": {
			reason:     "what was given up is back: he has answered",
			state:      &objectState{State: objectstate.State{Object: objectstate.Object{Known: true}}},
			conditions: []commonv1.Condition{gaveUp},
			marks:      map[string]string{attempt: second, pending: early, noted: notedAsked},
			want:       map[string]string{noted: notedAsked}, message: textGivenUp,
		},
		"GivenUpBefore": {
			reason: "another process may have begun another", state: &objectState{},
			conditions: []commonv1.Condition{gaveUp},
			marks:      map[string]string{attempt: second, pending: early, noted: notedAsked},
			remembers:  objectstate.Cold{Attempts: objectstate.Attempts{Called: called}}, message: textOverruled,
		},
		"GivenUpBeforeThat": {
			reason: "the same, and what came before that was made", state: &objectState{},
			conditions: []commonv1.Condition{gaveUp},
			marks:      map[string]string{attempt: first + "/succeeded", name: "vol-0", succeeded: early},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Made: objectstate.CreationRef{Mark: first +
				"/succeeded", Name: "vol-0"}}},
			message: textOverruled,
		},
		"GivenUpAndCalled": {
			reason:     "this process has begun another",
			state:      remembering(objectstate.Object{Known: true}, objectstate.Attempts{Called: third}),
			conditions: []commonv1.Condition{gaveUp},
			marks:      map[string]string{attempt: second, pending: early},
			want:       map[string]string{attempt: third.Attempt, pending: third.Pending},
			remembers:  objectstate.Cold{Attempts: objectstate.Attempts{Called: third}}, message: textEarlier,
		},
		"GivenUpAndMade": {
			reason: "or has made another", state: remembering(objectstate.Object{Known: true},
				objectstate.Attempts{Made: made}), conditions: []commonv1.Condition{gaveUp},
			marks:     map[string]string{attempt: second, pending: early},
			want:      map[string]string{name: "vol-2", attempt: made.Mark, succeeded: third.Pending},
			remembers: objectstate.Cold{Attempts: objectstate.Attempts{Made: made}}, message: textEarlier,
		},
		"GivenUpAndLeft": {
			reason:     "what is left is no record",
			state:      &objectState{State: objectstate.State{Object: objectstate.Object{Known: true}}},
			conditions: []commonv1.Condition{gaveUp},
			marks:      map[string]string{attempt: second, noted: notedAsked},
		},
		"NotAsked": {
			reason: "what the condition asked for once is not asked any more", state: &objectState{},
			conditions: []commonv1.Condition{{Type: "Synced", Status: "True"}, about(second, "")}, finalizers: held,
		},
	}
	for id, tc := range cases {
		t.Run(id, func(t *testing.T) {
			mg := bearing(tc.marks)
			mg.SetFinalizers(tc.finalizers)
			mg.SetConditions(tc.conditions...)
			want := tc.want
			if want == nil {
				want = bearing(tc.marks).GetAnnotations()
			}
			p := passOf(mg, tc.state)
			p.restore()
			if diff := cmp.Diff(want, mg.GetAnnotations()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if p.restored != (tc.want != nil) {
				t.Errorf("%s: to be stored is %t", tc.reason, p.restored)
			}
			if got := p.state.Cold; got.Called != tc.remembers.Called || got.Made != tc.remembers.Made {
				t.Errorf("%s: remembered is %+v, %+v", tc.reason, got.Called, got.Made)
			}
			warned := event.Event{}
			if len(p.events) > 0 {
				warned = p.events[0]
			}
			if warned.Message != tc.message ||
				warned.Message != "" && (warned.Type != event.TypeWarning || warned.Reason != "CreationRecordTaken") {
				t.Errorf("%s: told is %+v", tc.reason, p.events)
			}
		})
	}
}

// TestARemovedRecordIsReportedOnce verifies that a record that is removed repeatedly is reported once, and not for
// a paused object.
func TestARemovedRecordIsReportedOnce(t *testing.T) {
	for id, tc := range map[string]struct {
		marks    map[string]string
		reported map[string]string
	}{
		"Again":  {nil, map[string]string{"CreationRecordTaken": textTaken}},
		"Paused": {map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}, nil},
	} {
		mg := bearing(tc.marks)
		mg.SetFinalizers([]string{FinalizerName})
		mg.SetConditions(
			commonv1.Condition{Type: "Synced", Status: "False", Message: textUnresolved},
			commonv1.Condition{
				Type: "Created", Status: "Unknown", Reason: "Unresolved",
				Message: objectstate.CreationRef{Mark: second}.String(),
			},
		)
		p := passOf(mg, remembering(objectstate.Reports{LastWarnings: tc.reported}))
		if p.restore(); !p.restored || len(p.events) != 0 {
			t.Errorf("%s: to be stored is %t, told is %v", id, p.restored, p.events)
		}
	}
}

// TestAsksAgain verifies that the condition says which answer is left after all annotations were removed.
func TestAsksAgain(t *testing.T) {
	for value, want := range map[string]string{
		"": "", notedAsked: "", notedTaken: textAgain,
		notedAsked + "/" + early: "", notedTaken + "/" + early: textAgain,
	} {
		if got := passOf(bearing(map[string]string{meta.AnnotationKeyWasUnresolved: value}),
			&objectState{}).asksAgain(); got != want {
			t.Errorf("%q: got %q", value, got)
		}
	}
}

// TestRecall verifies that a restored API server gets the latest state of the memory.
func TestRecall(t *testing.T) {
	const (
		name, attempt      = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt
		pending, succeeded = meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded
	)
	seen := objectstate.CreationRef{Mark: second + "/succeeded", Name: "vol-1"}
	begun := noon.Add(time.Hour).Format(time.RFC3339) // the number of the second attempt
	whole := map[string]string{name: "vol-1", attempt: seen.Mark, succeeded: begun}
	known := remembering(objectstate.Resource{Seen: seen})
	here := &objectState{State: objectstate.State{Resource: objectstate.Resource{Creation: createdHere}}}
	cases := map[string]struct {
		reason  string
		state   *objectState
		options []ReconcilerOption
		marks   map[string]string
		want    map[string]string // nil: as they were
		missing bool
	}{
		"Nothing": {"the snapshot is from before the creation", known, nil, nil, whole, true},
		"Begun":   {"or from within", known, nil, map[string]string{pending: early, attempt: second}, whole, true},
		"Again": {"or from within its repetition", known, []ReconcilerOption{WithCreationTokens()},
			map[string]string{pending: early, attempt: second}, whole, true},
		"Earlier": {"or from after an earlier one", known, nil, map[string]string{
			name: "vol-0", attempt: first + "/succeeded", pending: early, succeeded: early,
		}, whole, true},
		"Whole": {"nothing is missing", known, nil, whole, nil, false},
		"Since": {"another was begun since",
			remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: first + "/succeeded"}}), nil,
			map[string]string{attempt: second}, nil, false},
		"Unknown": {"the memory knows nothing", &objectState{}, nil, nil, nil, false},
		"Named": {"a name of our choice needs no record, but the finalizer", here,
			[]ReconcilerOption{WithDeterministicExternalName(true)}, nil, nil, true},
		"NotNamed": {"and not if nothing was created", &objectState{},
			[]ReconcilerOption{WithDeterministicExternalName(true)}, nil, nil, false},
	}
	for id, tc := range cases {
		mg, want := bearing(tc.marks), tc.want
		if want == nil {
			want = bearing(tc.marks).GetAnnotations()
		}
		if got := passOf(mg, tc.state, tc.options...).recall(); got != tc.missing {
			t.Errorf("%s: %s: something was missing is %t", id, tc.reason, got)
		}
		if diff := cmp.Diff(want, mg.GetAnnotations()); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", id, tc.reason, diff)
		}
	}
}

// TestWhatIsRememberedOfARecordThatIsBelieved verifies that a record that is trusted updates the remembered result
// only with what it says was created.
func TestWhatIsRememberedOfARecordThatIsBelieved(t *testing.T) {
	const name, attempt = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt
	for reason, tc := range map[string]struct {
		marks map[string]string
		want  objectstate.CreationRef
	}{
		"it succeeded": {map[string]string{name: "vol-1", attempt: ownDone},
			objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}},
		"its result is unknown": {map[string]string{name: "vol-1", attempt: ownID}, objectstate.CreationRef{}},
		"the attempt has failed": {map[string]string{name: "vol-1", attempt: ownID + "/failed"},
			objectstate.CreationRef{}},
	} {
		p := passOf(bearing(tc.marks), &objectState{})
		if p.applyAnswer(lifecycle.Overruled); p.state.Made != tc.want || len(p.events) != 1 ||
			p.events[0].Message != textOverruled {
			t.Errorf("%s: remembered as made is %+v, told %+v", reason, p.state.Made, p.events)
		}
	}
}

// TestAUserWhoHasChosenAnotherNameIsAsked verifies that a user who has set another name for an observed resource is
// asked whether it is safe to proceed, that the creation stays reported as observed, and that the note is stored.
func TestAUserWhoHasChosenAnotherNameIsAsked(t *testing.T) {
	mg := bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalName: "vol-2"})
	found := commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Reason: commonv1.ReasonObserved,
		Message: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}.String(),
	}
	mg.SetConditions(found)
	registry := prometheus.NewRegistry()
	w := newStored(mg, &objectState{}, WithMetricsRegisterer(registry))
	if err := w.askUser(t.Context()); err != nil || len(w.writes.sent) != 1 ||
		w.mg.GetAnnotations()[meta.AnnotationKeyWasUnresolved] != notedAsked {
		t.Errorf("error %v, sent %q", err, w.writes.sent)
	}
	if got := sample(t, registry, "moorage_managed_writes_total", "what"); got["result"] != 1 {
		t.Errorf("counted are the writes %v", got)
	}
	if c := w.mg.GetCondition(commonv1.TypeCreated); !c.Equal(found) {
		t.Errorf("Created is %s/%s: %s", c.Status, c.Reason, c.Message)
	}
}

// TestWhatAUserIsAskedAbout verifies that the message names the attempt and the external name of the creation in
// question.
func TestWhatAUserIsAskedAbout(t *testing.T) {
	w := newStored(bearing(map[string]string{
		meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early,
		meta.AnnotationKeyExternalName:  "vol-1",
		meta.AnnotationKeyWasUnresolved: notedAsked,
	}), &objectState{})
	if err := w.askUser(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := w.mg.GetCondition(commonv1.TypeCreated)
	if want := (objectstate.CreationRef{Mark: ownID, Name: "vol-1"}).String(); c.Status != metav1.ConditionUnknown ||
		c.Reason != commonv1.ReasonUnresolved || c.Message != want {
		t.Errorf("Created is %s/%s: %s, want %s", c.Status, c.Reason, c.Message, want)
	}
}

// TestTheNoteOfAQuestionStays verifies that the note that the user was asked is written once, and keeps its value
// after a replace. With a predecessor it has the time of the last creation in question.
func TestTheNoteOfAQuestionStays(t *testing.T) {
	const (
		before, after = "/2025-01-01T00:00:00Z", "/2027-01-01T00:00:00Z"
		half, inUTC   = "2026-01-01T01:00:00.5+01:00", "/2026-01-01T00:00:00.5Z"
	)
	theirs := []ReconcilerOption{WithPredecessor("crossplane.io")}
	for _, tc := range []struct {
		noted, pending string
		options        []ReconcilerOption
		want           string
	}{
		{"", early, nil, notedAsked + "/" + early},
		{notedAsked, early, nil, notedAsked},
		{notedTaken, early, nil, notedTaken},
		{notedAsked + before, early, nil, notedAsked + before},
		{"", early, theirs, notedAsked + "/" + early},
		{notedAsked, early, theirs, notedAsked + "/" + early},
		{notedTaken, early, theirs, notedTaken + "/" + early},
		{notedAsked + before, early, theirs, notedAsked + "/" + early},
		{notedAsked + "/" + early, early, theirs, notedAsked + "/" + early},
		{notedAsked + after, early, theirs, notedAsked + after},
		{"", half, theirs, notedAsked + inUTC},
		{notedAsked + inUTC, half, theirs, notedAsked + inUTC},
	} {
		mg := marked(tc.pending, "", "", ownID)
		mg.SetUID(ownerUID)
		if tc.noted != "" {
			mg.Annotations[meta.AnnotationKeyWasUnresolved] = tc.noted
		}
		w := newStored(mg, &objectState{}, tc.options...)
		w.lastFacts.Object = lifecycle.HasFinalizer
		if err := w.askUser(t.Context()); err != nil {
			t.Errorf("noted %q: %v", tc.noted, err)
		}
		got, written := w.mg.GetAnnotations()[meta.AnnotationKeyWasUnresolved], len(w.writes.sent) > 0
		if got != tc.want || written != (tc.noted != tc.want) {
			t.Errorf("%+v: noted is %q, want %q, sent %v", tc, got, tc.want, w.writes.sent)
		}
	}
}

// TestAnObjectWhoseUserIsAskedIsHeld verifies that an object that waits for an answer gets the finalizer, whichever
// runtime has begun its creation.
func TestAnObjectWhoseUserIsAskedIsHeld(t *testing.T) {
	theirs := []ReconcilerOption{WithPredecessor("crossplane.io")}
	held, since := lifecycle.Facts{Object: lifecycle.HasFinalizer}, lifecycle.Facts{Attempt: lifecycle.Superseded}
	sinceHeld := lifecycle.Facts{Object: lifecycle.HasFinalizer, Attempt: lifecycle.Superseded}
	ours := map[string]string{meta.AnnotationKeyExternalCreatePending: early, meta.AnnotationKeyCreateAttempt: ownID}
	foreign := map[string]string{meta.AnnotationKeyExternalCreatePending: early}
	for reason, tc := range map[string]struct {
		marks   map[string]string
		last    lifecycle.Facts
		options []ReconcilerOption
		noted   string
		writes  int
	}{
		"the note and the finalizer go in one write": {ours, lifecycle.Facts{}, nil, notedAsked + "/" + early, 1},
		"a held object gets the note alone":          {ours, held, nil, notedAsked + "/" + early, 1},
		"a creation of another runtime gets no note": {foreign, lifecycle.Facts{}, nil, "", 1},
		"and nothing is written if it is held":       {foreign, held, nil, "", 0},
		"a known predecessor has begun the creation": {foreign, lifecycle.Facts{}, theirs,
			notedAsked + "/" + early, 1},
		"a predecessor has created since":               {ours, since, theirs, "", 1},
		"and nothing is written if that object is held": {ours, sinceHeld, theirs, "", 0},
	} {
		mg := bearing(tc.marks)
		if tc.last.Object == lifecycle.HasFinalizer {
			mg.SetFinalizers([]string{FinalizerName})
		}
		w := newStored(mg, &objectState{}, tc.options...)
		w.lastFacts = tc.last
		if err := w.askUser(t.Context()); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
		if held := meta.FinalizerExists(w.newest, FinalizerName); !held || len(w.writes.sent) != tc.writes {
			t.Errorf("%s: held is %t, sent %v", reason, held, w.writes.sent)
		}
		if got := w.mg.GetAnnotations()[meta.AnnotationKeyWasUnresolved]; got != tc.noted {
			t.Errorf("%s: noted is %q", reason, got)
		}
	}
}

// TestTheFinalizerOfTheAuthorHoldsAnObjectWhoseUserIsAsked verifies that the author's finalizer is added before the
// user is asked.
func TestTheFinalizerOfTheAuthorHoldsAnObjectWhoseUserIsAsked(t *testing.T) {
	boom := errors.New("boom")
	for _, want := range []error{nil, boom} {
		added := 0
		w := newStored(marked(early, "", "", ownID), &objectState{}, WithFinalizer(resource.FinalizerFns{
			AddFinalizerFn:    func(context.Context, resource.Object) error { added++; return want },
			RemoveFinalizerFn: func(context.Context, resource.Object) error { return nil },
		}))
		err := w.askUser(t.Context())
		asked := w.mg.GetCondition(commonv1.TypeCreated).Reason == commonv1.ReasonUnresolved
		if !errors.Is(err, want) || added != 1 || asked != (want == nil) {
			t.Errorf("error %v, want %v; added %d times, asked is %t", err, want, added, asked)
		}
	}
}

// TestTheNoteIsWrittenWithTheRecord verifies that the note is written together with the record of the creation:
// after a restore of the API server the same resource version may lack the record, and the note alone would count
// as an answer.
func TestTheNoteIsWrittenWithTheRecord(t *testing.T) {
	const pending, attempt = meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyCreateAttempt
	ours := map[string]string{pending: early, attempt: ownID}
	for reason, tc := range map[string]struct {
		marks map[string]string
		note  string
		want  []string
	}{
		"of this runtime":    {ours, notedAsked, []string{pending, attempt}},
		"of another runtime": {map[string]string{pending: early}, notedAsked, []string{pending}},
		"no note is written": {ours, "", nil},
	} {
		w := newStored(bearing(tc.marks), &objectState{})
		key := meta.AnnotationKeyWasUnresolved
		if tc.note == "" {
			key, tc.note = "color", "red"
		}
		meta.AddAnnotations(w.mg, map[string]string{key: tc.note})
		if err := w.store(t.Context(), telemetry.Result); err != nil || len(w.writes.sent) != 1 {
			t.Fatalf("%s: %v, sent %q", reason, err, w.writes.sent)
		}
		var got []string
		for _, mark := range []string{pending, attempt} {
			if strings.Contains(w.writes.sent[0], mark) {
				got = append(got, mark)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", reason, diff)
		}
	}
}
