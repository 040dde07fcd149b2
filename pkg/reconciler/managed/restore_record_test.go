package managed

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// Marks of an attempt for the object "uid-1", and for another one.
const (
	ownID     = "a-50c45a43" // see ownMark, which TestOwnMark compares
	ownDone   = ownID + "/succeeded"
	foreignID = "a-00000000"
	ownerUID  = types.UID("uid-1")
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// bearing returns an object with annotations.
func bearing(annotations map[string]string) *fake.Managed {
	mg := &fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "data", UID: ownerUID}}
	meta.AddAnnotations(mg, annotations)

	return mg
}

// passOf returns a pass of a reconciler that was made an hour before noon, at noon, and adds no jitter.
func passOf(mg resource.Managed, o *objectState, options ...ReconcilerOption) *pass {
	r := optioned(WithClock(testclock.NewFakePassiveClock(noon)), WithRandom(func() float64 { return 0.5 }),
		WithLogger(logging.NewNopLogger()), WithPollInterval(time.Minute), WithMinPollInterval(time.Second))
	r.createdAt = noon.Add(-time.Hour)
	for _, option := range options {
		option(r)
	}
	r.telemetry = r.newTelemetry()

	return passOver(r, mg, mg, o.acquire(new(sync.Pool)))
}

// remembering returns a memo of parts of what is kept of most objects, and of what is kept of few.
func remembering(parts ...any) *objectState {
	o := &objectState{coldState: &coldState{}}
	for _, part := range parts {
		switch part := part.(type) {
		case objectstate.State:
			o.State = part
		case objectstate.Object:
			o.Object = part
		case objectstate.Resource:
			o.Resource = part
		case objectstate.Cold:
			o.Cold = part
		case objectstate.Retries:
			o.Retries = part
		case objectstate.Deletion:
			o.Deletion = part
		case objectstate.Attempts:
			o.Attempts = part
		case objectstate.Publication:
			o.Publication = part
		case objectstate.Reports:
			o.Reports = part
		default:
			panic(fmt.Sprintf("%T is no part of what is remembered", part))
		}
	}

	return o
}

func TestOwnMark(t *testing.T) {
	if mark := attempt.UIDHash(bearing(nil)); ownID != "a-"+string(mark[:]) {
		t.Fatalf("the object is marked with %s", mark)
	}
	mg := bearing(nil)
	if !attempt.Copied(mg, foreignID) || attempt.Copied(mg, ownID) || attempt.Copied(mg, "a") {
		t.Error("the marks of another object are its own, or its own, or those of another runtime, are not")
	}
}

func TestRestoreCreation(t *testing.T) {
	const name, attempt, pending, succeeded = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded
	ours, theirs := objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}, objectstate.CreationRef{Mark: later,
		Name: "vol-1"}
	whole := map[string]string{name: "vol-1", attempt: ownDone, succeeded: early}
	cases := map[string]struct {
		reason string
		ref    objectstate.CreationRef
		marks  map[string]string
		want   map[string]string // nil: as they were
	}{
		"Nothing": {"a replace has taken all", ours, nil, whole},
		"Name":    {"it has left the name", ours, map[string]string{name: "vol-1"}, whole},
		"AttemptAndName": {"it has left all but the time", ours, map[string]string{name: "vol-1", attempt: ownDone},
			whole},
		"Time":  {"it has left the time alone", ours, map[string]string{succeeded: early}, whole},
		"Whole": {"nothing is missing", ours, whole, nil},
		"AnotherTime": {"a time that was written later is no other creation", ours,
			map[string]string{name: "vol-1", attempt: ownDone, succeeded: later}, nil},
		"AnotherName": {"a user has chosen another", ours, map[string]string{name: "vol-2"}, nil},
		"AnotherAttempt": {"something was created since", ours,
			map[string]string{attempt: "b" + ownID[1:] + "/succeeded"}, nil},
		"Nameless": {"what has no name needs none", objectstate.CreationRef{Mark: ownDone}, nil,
			map[string]string{attempt: ownDone, succeeded: early}},
		"Failed": {"what failed made nothing",
			objectstate.CreationRef{Mark: ownID + "/failed", Name: "vol-1"}, nil, nil},
		"Copied": {"the status came along with a copy",
			objectstate.CreationRef{Mark: foreignID + "/succeeded", Name: "vol-1"}, nil, nil},
		"BegunSince": {"another runtime has begun since", ours, map[string]string{pending: later}, nil},
		"BegunBefore": {"that is the beginning of this one", ours, map[string]string{pending: early}, map[string]string{
			pending: early, name: "vol-1", attempt: ownDone, succeeded: early,
		}},
		"Theirs": {"another runtime has created, and knows times only", theirs, nil,
			map[string]string{name: "vol-1", succeeded: later}},
		"TheirsName": {"and its name is missing", theirs, map[string]string{succeeded: later},
			map[string]string{name: "vol-1", succeeded: later}},
		"TheirsOther":     {"it has created again since", theirs, map[string]string{succeeded: early}, nil},
		"TheirsAttempted": {"we have created since", theirs, map[string]string{attempt: ownID}, nil},
	}
	for id, tc := range cases {
		t.Run(id, func(t *testing.T) {
			mg, want := bearing(tc.marks), tc.want
			if want == nil {
				want = bearing(tc.marks).GetAnnotations()
			}
			since, err := time.Parse(time.RFC3339, early)
			if err != nil {
				t.Fatal(err)
			}
			if restored := restoreCreation(mg, tc.ref,
				since.In(time.FixedZone("east", 3600))); restored != (tc.want != nil) {
				t.Errorf("%s: restored is %t", tc.reason, restored)
			}
			if diff := cmp.Diff(want, mg.GetAnnotations()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRestoreAttempt(t *testing.T) {
	const attempt, pending = meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending
	called := objectstate.Intent{Pending: early, Attempt: ownID}
	cases := map[string]struct {
		reason string
		called objectstate.Intent
		marks  map[string]string
		want   bool
	}{
		"Nothing": {"a replace has taken all", called, nil, true},
		"Time":    {"it has left the time", called, map[string]string{pending: early}, true},
		"NewTime": {"something was begun since", called, map[string]string{pending: later}, false},
		"Attempt": {"a user has removed the time", called, map[string]string{attempt: ownID}, false},
		"Other":   {"another runtime began it, without an id", objectstate.Intent{Pending: early}, nil, true},
		"Whole": {"all of it is there", objectstate.Intent{Pending: early}, map[string]string{pending: early},
			false},
		"Uncalled": {"nothing was called", objectstate.Intent{}, nil, false},
	}
	for id, tc := range cases {
		mg := bearing(tc.marks)
		if got := restoreAttempt(mg, tc.called); got != tc.want {
			t.Errorf("%s: %s: restored is %t", id, tc.reason, got)
		}
		want := bearing(tc.marks).GetAnnotations()
		if tc.want {
			want = map[string]string{attempt: ownID, pending: early}
		}
		if tc.called.Attempt == "" {
			delete(want, attempt)
		}
		if diff := cmp.Diff(want, mg.GetAnnotations()); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", id, tc.reason, diff)
		}
	}
}

func TestKnown(t *testing.T) {
	seen, made := objectstate.CreationRef{Mark: "seen", Name: "vol-1"}, objectstate.CreationRef{Mark: "made",
		Name: "vol-2"}
	called := objectstate.Intent{Attempt: ownID}
	cases := map[string]struct {
		reason        string
		state         *objectState
		name, attempt string
		anything      bool
	}{
		"Nothing": {"no pass was made", &objectState{}, "", "", false},
		"Unmarked": {"nor is a creation of another process one of this",
			&objectState{State: objectstate.State{Resource: objectstate.Resource{Creation: early}}}, "", "", false},
		"Seen": {"an observation has found it",
			&objectState{State: objectstate.State{Resource: objectstate.Resource{Seen: seen}}}, "vol-1",
			"seen", true},
		"Made": {"no observation has found it yet",
			remembering(objectstate.Attempts{Made: made}), "vol-2", "made", true},
		"SeenSince": {"what was found counts",
			remembering(objectstate.Resource{Seen: seen}, objectstate.Attempts{Made: made}), "vol-1", "seen", true},
		"Called": {"what was called since may have made another",
			remembering(objectstate.Resource{Seen: seen}, objectstate.Attempts{Made: made, Called: called}), "",
			ownID, true},
		"CalledThen": {"so may what another runtime called",
			remembering(objectstate.Attempts{Called: objectstate.Intent{Pending: early}}), "", "",
			true},
		"Here": {"a name of our choice is not kept",
			&objectState{State: objectstate.State{Resource: objectstate.Resource{Creation: createdHere}}}, "", "",
			true},
		"Gone": {"the object is let go", &objectState{State: objectstate.State{
			Resource: objectstate.Resource{Seen: seen}, Object: objectstate.Object{Gone: true},
		}}, "",
			"", false},
		"GoneSince": {"whatever was called for it",
			remembering(objectstate.Object{Gone: true}, objectstate.Attempts{Called: called}), "", "", false},
		"LetGo": {"its author's finalizer is gone",
			remembering(objectstate.Resource{Seen: seen}, objectstate.Deletion{FinalizerRemoved: true}), "", "", false},
	}
	for id, tc := range cases {
		if name, attempt, anything := tc.state.known(); name != tc.name || attempt != tc.attempt ||
			anything != tc.anything {
			t.Errorf("%s: %s: got %q, %q, %t", id, tc.reason, name, attempt, anything)
		}
	}
}

// TestContradicted verifies that another creation than the known one is reported with its name.
func TestContradicted(t *testing.T) {
	const attempt = meta.AnnotationKeyCreateAttempt
	done := objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}
	cases := map[string]struct {
		reason string
		seen   objectstate.CreationRef
		marks  map[string]string
		named  bool
		want   bool
	}{
		"Nothing": {"nothing is known", objectstate.CreationRef{}, map[string]string{attempt: "b"}, false, false},
		"Made": {"nothing is known of what was made", objectstate.CreationRef{},
			map[string]string{attempt: ownDone}, false, false},
		"Same":     {"it is the same", done, map[string]string{attempt: ownDone}, false, false},
		"Begun":    {"it is the same before its end", done, map[string]string{attempt: ownID}, false, false},
		"Another":  {"it is another", done, map[string]string{attempt: "b" + ownID[1:]}, false, true},
		"Unmarked": {"it is none", done, nil, false, true},
		"Named":    {"a name of our choice tells", done, nil, true, false},
		"Theirs": {"another runtime has made it", objectstate.CreationRef{Mark: early, Name: "vol-1"},
			map[string]string{meta.AnnotationKeyExternalCreateSucceeded: early}, false, false},
		"TheirsNew": {"and then another", objectstate.CreationRef{Mark: early, Name: "vol-1"},
			map[string]string{meta.AnnotationKeyExternalCreateSucceeded: later}, false, true},
	}
	for id, tc := range cases {
		p := passOf(bearing(tc.marks), remembering(objectstate.Resource{Seen: tc.seen}),
			WithDeterministicExternalName(tc.named))
		if name, mark, other := p.contradicted(); other != tc.want || name != tc.seen.Name || mark != tc.seen.Mark {
			t.Errorf("%s: %s: got %q, %q, %t", id, tc.reason, name, mark, other)
		}
	}
}

func TestLastCreation(t *testing.T) {
	seen, made := objectstate.CreationRef{Mark: "seen", Name: "vol-1"}, objectstate.CreationRef{Mark: "made",
		Name: "vol-2"}
	reported := objectstate.CreationRef{Mark: "told", Name: "vol-3"}
	said := metav1.NewTime(noon.Add(-time.Minute))
	since := objectstate.Instant(30 * time.Minute) // after the reconciler was made
	cases := map[string]struct {
		reason string
		state  *objectState
		silent bool // without a condition
		want   objectstate.CreationRef
		since  time.Time
	}{
		"Told": {"the condition alone knows", &objectState{}, false, reported, said.Time},
		"None": {"nobody knows", &objectState{}, true, objectstate.CreationRef{}, noon},
		"Seen": {"an observation has found it",
			remembering(objectstate.Resource{Seen: seen, Since: since}, objectstate.Attempts{Made: made}), false, seen,
			said.Time},
		"Made": {"no observation has found it yet",
			remembering(objectstate.Resource{Since: since}, objectstate.Attempts{Made: made}), false, made,
			noon.Add(-30 * time.Minute)},
		"Called": {"what was called since is the last",
			remembering(objectstate.Resource{Seen: seen},
				objectstate.Attempts{Called: objectstate.Intent{Attempt: ownID}}),
			false, objectstate.CreationRef{}, said.Time},
	}
	for id, tc := range cases {
		mg := bearing(nil)
		if !tc.silent {
			mg.SetConditions(commonv1.Condition{
				Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Message: reported.String(),
				LastTransitionTime: said,
			})
		}
		if ref, at := passOf(mg, tc.state).lastCreation(); ref != tc.want || !at.Equal(tc.since) {
			t.Errorf("%s: %s: got %v since %s", id, tc.reason, ref, at)
		}
	}
}

// TestGivenUp verifies that a user abandons an attempt by removing its marks only when asked.
func TestGivenUp(t *testing.T) {
	asked := commonv1.Condition{
		Type: commonv1.TypeSynced, Status: metav1.ConditionFalse,
		Reason: commonv1.ReasonCreationUnresolved, Message: textUnseen,
	}
	older := commonv1.Condition{
		Type: commonv1.TypeSynced, Status: metav1.ConditionFalse,
		Reason: commonv1.ReasonReconcileError, Message: textUnresolved + "; it ended with: EOF",
	}
	otherwise := commonv1.Condition{
		Type: commonv1.TypeSynced, Status: metav1.ConditionFalse,
		Reason: commonv1.ReasonReconcileError, Message: "EOF",
	}
	held := []string{FinalizerName}
	cases := map[string]struct {
		reason     string
		created    commonv1.Condition
		finalizers []string
		marks      map[string]string
		want       bool
	}{
		"Asked":     {"he was asked to", asked, held, nil, true},
		"AskedOnce": {"in words alone", older, held, nil, true},
		"NotAsked":  {"he was not", otherwise, held, nil, false},
		"Replaced":  {"a replace has taken the finalizer along", asked, nil, nil, false},
		"StillBegun": {"the beginning is still there", asked, held,
			map[string]string{meta.AnnotationKeyExternalCreatePending: early}, false},
		"StillDone": {"the end is still there", asked, held,
			map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}, false},
	}
	for id, tc := range cases {
		mg := bearing(tc.marks)
		mg.SetFinalizers(tc.finalizers)
		mg.SetConditions(tc.created)
		if got := passOf(mg, &objectState{}).answered() == lifecycle.GivenUp; got != tc.want {
			t.Errorf("%s: %s: got %t", id, tc.reason, got)
		}
	}
}

// TestAPassThatFailsKeepsTheNameOfWhatIsBeingDeleted verifies that a failed pass keeps the name of the resource
// that is being deleted after a replace.
func TestAPassThatFailsKeepsTheNameOfWhatIsBeingDeleted(t *testing.T) {
	for reason, tc := range map[string]struct {
		sent, acted bool
		leaves      string
		replaced    bool
	}{
		"a delete was sent, and the pass failed":    {true, false, "vol-1", true},
		"another was sent, under the name there is": {true, true, "vol-2", false},
		"none was sent": {false, false, "vol-2", true},
	} {
		mg := bearing(map[string]string{meta.AnnotationKeyExternalName: "vol-2"})
		mg.SetFinalizers([]string{FinalizerName})
		mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		state := remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}},
			objectstate.Deletion{LeftoverName: "vol-1"})
		if tc.sent {
			state.DeleteSent = noon
		}
		p := passOf(mg, state)
		p.mutated = tc.acted
		if p.recordLeftover(); p.state.LeftoverName != tc.leaves {
			t.Errorf("%s: it leaves %q, want %q", reason, p.state.LeftoverName, tc.leaves)
		}
		if p.mutated = false; p.replaced() != tc.replaced {
			t.Errorf("%s: replaced %t", reason, !tc.replaced)
		}
	}
}

// TestReplaced verifies that a replaced record with another external name is recognized.
func TestReplaced(t *testing.T) {
	const attempt, pending, succeeded, failed = meta.AnnotationKeyCreateAttempt,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyExternalCreateFailed
	made := func(mark string) *objectState {
		return remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: mark, Name: "vol-1"}})
	}
	sent := func(leaves string) *objectState {
		return remembering(made(ownDone).State, objectstate.Deletion{DeleteSent: noon, LeftoverName: leaves})
	}
	begun := remembering(objectstate.Attempts{
		Made: made(ownDone).Seen, Called: objectstate.Intent{Attempt: ownID, Pending: early},
	})
	cases := map[string]struct {
		reason  string
		state   *objectState
		marks   map[string]string
		created metav1.ConditionStatus
		change  func(*pass)
		want    bool
	}{
		"Seen":   {"what was made last is known", made(ownDone), nil, "", nil, true},
		"Theirs": {"another runtime made it", made(early), nil, "", nil, true},
		"Unseen": {"it was not found yet",
			remembering(objectstate.Attempts{Made: made(ownDone).Seen}), nil, "", nil, true},
		"Told":    {"the condition knows it", &objectState{}, nil, metav1.ConditionTrue, nil, true},
		"Asked":   {"the condition asks about it", &objectState{}, nil, metav1.ConditionUnknown, nil, false},
		"Unknown": {"nothing is known", &objectState{}, nil, "", nil, false},
		"Begun":   {"what became of the last attempt is not known", begun, nil, "", nil, false},
		"Failed":  {"it came to nothing", made(ownID + "/failed"), nil, "", nil, false},
		"Copied":  {"it was made for another object", made(foreignID + "/succeeded"), nil, "", nil, false},
		"SameName": {"nothing but the record is gone", made(ownDone),
			map[string]string{meta.AnnotationKeyExternalName: "vol-1"}, "", nil, false},
		"NoName": {"it wrote none, so that the record is put back before anything is asked", made(ownDone),
			map[string]string{meta.AnnotationKeyExternalName: ""}, "", nil, false},
		"Recorded": {"a user has chosen the name", made(ownDone), map[string]string{attempt: ownDone}, "", nil,
			false},
		"Succeeded": {"so it is in the words of another runtime", made(early), map[string]string{succeeded: early},
			"", nil, false},
		"Pending": {"another runtime has begun since", made(early), map[string]string{pending: later}, "", nil,
			false},
		"LeftFailed": {"that something failed says nothing", made(ownDone), map[string]string{failed: early}, "",
			nil, true},
		"Chosen": {"under a name of our choice there is no record", made(ownDone), nil, "",
			func(p *pass) { p.r.named = true }, false},
		"Deleting": {"what was made last is being deleted", sent("vol-1"), nil, "", nil, true},
		"DeletingNow": {"what has the name was deleted in this pass", sent(""), nil, "",
			func(p *pass) { p.mutated = true }, false},
		"DeletingIt": {"what has the name is being deleted", sent("vol-2"), nil, "", nil, false},
		"NotDeleting": {"the name was looked at, and nothing deleted",
			remembering(made(ownDone).State, objectstate.Deletion{LeftoverName: "vol-2"}), nil, "", nil, true},
	}
	for id, tc := range cases {
		mg := bearing(map[string]string{meta.AnnotationKeyExternalName: "vol-2"})
		meta.AddAnnotations(mg, tc.marks)
		if tc.created != "" {
			mg.SetConditions(commonv1.Condition{
				Type: commonv1.TypeCreated, Status: tc.created, Reason: commonv1.ReasonObserved,
				Message: made(ownDone).Seen.String(),
			})
		}
		p := passOf(mg, tc.state)
		if tc.change != nil {
			tc.change(p)
		}
		if got := p.replaced(); got != tc.want {
			t.Errorf("%s: %s: got %t", id, tc.reason, got)
		}
	}
}
