package managed

import (
	"reflect"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestWhatAnObjectLeaves verifies that the leftover of an object is its created, or possibly created, resource that
// was not to stay, by its name or attempt.
func TestWhatAnObjectLeaves(t *testing.T) {
	made, seen := objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}, objectstate.CreationRef{Mark: ownDone,
		Name: "vol-2"}
	kept := objectstate.State{Object: objectstate.Object{HadFinalizer: true}}
	with := func(change func(*objectstate.State)) objectstate.State {
		s := kept
		change(&s)

		return s
	}
	cases := map[string]struct {
		reason string
		state  objectstate.State
		cold   *objectstate.Cold // nil: nothing that troubles
		name   string
		by     string // the attempt
	}{
		"Nothing": {"nothing was created", kept, &objectstate.Cold{}, "", ""},
		"Quiet":   {"and nothing is remembered besides", kept, nil, "", ""},
		"Seen":    {"it was found", with(func(s *objectstate.State) { s.Seen = seen }), nil, "vol-2", ""},
		"Made":    {"it was made", kept, &objectstate.Cold{Attempts: objectstate.Attempts{Made: made}}, "vol-1", ""},
		"MadeAnd": {"it is told by its own name", kept, &objectstate.Cold{
			Attempts: objectstate.Attempts{Made: made},
			Deletion: objectstate.Deletion{LeftoverName: "vol-9"},
		},
			"vol-1", ""},
		"Leaves": {"it is being deleted", kept,
			&objectstate.Cold{Deletion: objectstate.Deletion{LeftoverName: "vol-9"}}, "vol-9", ""},
		"Called": {"nobody knows what it led to", kept,
			&objectstate.Cold{Attempts: objectstate.Attempts{Called: objectstate.Intent{Attempt: ownID}}}, "", ownID},
		"Named": {"under a name of our choice there is no mark",
			with(func(s *objectstate.State) { s.Creation = createdHere }),
			&objectstate.Cold{Deletion: objectstate.Deletion{LeftoverName: "data"}},
			"data", ""},
		"Stays": {"it is to stay", with(func(s *objectstate.State) { s.Seen, s.NoLeftover = seen, true }), nil, "", ""},
		"Unkept": {"the object was never kept for it", objectstate.State{Resource: objectstate.Resource{Seen: seen}},
			nil, "", ""},
		"Gone": {"the object was let go", with(func(s *objectstate.State) { s.Seen, s.Gone = seen, true }),
			&objectstate.Cold{Deletion: objectstate.Deletion{LeftoverName: "vol-9"}}, "", ""},
		"Removed": {"the author's finalizer was removed", with(func(s *objectstate.State) { s.Seen = seen }),
			&objectstate.Cold{Deletion: objectstate.Deletion{FinalizerRemoved: true, LeftoverName: "vol-9"}}, "", ""},
		"Nameless": {"it was made, and has no name", kept,
			&objectstate.Cold{Attempts: objectstate.Attempts{Made: objectstate.CreationRef{Mark: ownDone}}}, "",
			ownDone},
	}
	for name, tc := range cases {
		o := &objectState{State: tc.state}
		if tc.cold != nil {
			o.coldState = &coldState{Cold: *tc.cold}
		}
		want := ""
		switch {
		case tc.name != "":
			want = `the external resource "` + tc.name +
				`" may be left over: delete it there, or create the object again with the annotation ` +
				meta.AnnotationKeyExternalName + " set"
		case tc.by != "":
			want = "(the attempt to create it was " + tc.by +
				"): look for it in the external system, and delete it, or create the object again with the annotation " +
				meta.AnnotationKeyExternalName + " set"
		}
		if left := o.leftover(); (left == "") != (want == "") || !strings.Contains(left, want) {
			t.Errorf("%s: %s: it leaves %q, want %q", name, tc.reason, left, want)
		}
	}
}

// TestWhatAPassKeepsOfABond verifies that a pass remembers whether anything is left over, as far as it has
// determined that.
func TestWhatAPassKeepsOfABond(t *testing.T) {
	there := lifecycle.Facts{Presence: lifecycle.Present}
	foreign := lifecycle.Facts{Presence: lifecycle.Present, Ownership: lifecycle.Foreign}
	orphan := func(p *pass) {
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan})
	}
	made := func(p *pass) { p.mutated, p.created = true, true }
	cases := map[string]struct {
		reason string
		last   lifecycle.Facts
		change func(*pass)
		stays  [2]bool // after a pass before which it was not to stay, and was to
	}{
		"Unobserved": {"nobody has looked", lifecycle.Facts{}, func(*pass) {}, [2]bool{false, true}},
		"There":      {"it is there", there, func(*pass) {}, [2]bool{false, false}},
		"Foreign":    {"it is another's", foreign, func(*pass) {}, [2]bool{true, true}},
		"Released":   {"the object was let go", there, func(p *pass) { p.released = true }, [2]bool{true, true}},
		"Orphan":     {"it is to be orphaned", there, orphan, [2]bool{true, true}},
		"Spared":     {"it is to be spared", there, func(p *pass) { p.retained = true }, [2]bool{true, true}},
		"Made":       {"it was made after the last look", lifecycle.Facts{}, made, [2]bool{false, false}},
		"MadeAfter":  {"another's was there before", foreign, made, [2]bool{false, false}},
		"MadeOrphan": {"what was made is to be orphaned", foreign, func(p *pass) { made(p); orphan(p) },
			[2]bool{true, true}},
		"Called": {"nobody knows what was made", lifecycle.Facts{},
			func(p *pass) { p.mutated, p.state.Called.Attempt = true, ownID }, [2]bool{false, false}},
		"CalledOnce": {"that was before this pass", lifecycle.Facts{},
			func(p *pass) { p.state.Called.Attempt = ownID }, [2]bool{false, true}},
		"Changed": {"it was changed, and nothing was made", lifecycle.Facts{}, func(p *pass) { p.mutated = true },
			[2]bool{false, true}},
	}
	for name, tc := range cases {
		for i, before := range []bool{false, true} {
			p := passOf(bearing(nil), remembering(objectstate.Object{NoLeftover: before}))
			p.lastFacts = tc.last
			tc.change(p)
			if p.recordLeftover(); p.state.NoLeftover != tc.stays[i] {
				t.Errorf("%s: %s: it stays is %t, and was %t", name, tc.reason, p.state.NoLeftover, before)
			}
		}
	}
	for name, tc := range map[string]struct {
		held, deleted, unseen, released, before bool
		kept                                    bool
		leaves                                  string
	}{
		"held":                    {true, false, false, false, false, true, ""},
		"held, and not found":     {true, false, true, false, false, true, "vol-1"},
		"held, and deleted":       {true, true, false, false, false, true, "vol-1"},
		"held no more":            {false, false, true, false, true, true, "vol-1"},
		"never held":              {false, false, true, false, false, false, ""},
		"let go":                  {true, true, true, true, false, false, ""},
		"let go, and kept before": {true, true, false, true, true, true, ""},
	} {
		mg := bearing(map[string]string{
			meta.AnnotationKeyExternalName: "vol-1", meta.AnnotationKeyCreateAttempt: ownDone,
		})
		seen := objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}
		if tc.unseen {
			seen = objectstate.CreationRef{}
		}
		if tc.held {
			mg.SetFinalizers([]string{FinalizerName})
		}
		if tc.deleted {
			mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}
		p := passOf(mg, remembering(objectstate.Object{HadFinalizer: tc.before}, objectstate.Resource{Seen: seen},
			objectstate.Deletion{LeftoverName: "vol-9"}))
		p.released = tc.released
		if p.recordLeftover(); p.state.HadFinalizer != tc.kept || p.state.LeftoverName != tc.leaves {
			t.Errorf("%s: kept %t, leaves %q", name, p.state.HadFinalizer, p.state.LeftoverName)
		}
	}
}

// TestTheNameOfWhatIsBeingDeleted verifies that a sent Delete fixes the name of the leftover; without a name, the
// next known one counts.
func TestTheNameOfWhatIsBeingDeleted(t *testing.T) {
	for before, want := range map[string]string{"vol-9": "vol-9", "": "vol-1"} {
		mg := bearing(map[string]string{
			meta.AnnotationKeyExternalName: "vol-1", meta.AnnotationKeyCreateAttempt: ownDone,
		})
		mg.SetFinalizers([]string{FinalizerName})
		mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		p := passOf(mg, remembering(objectstate.Object{HadFinalizer: true},
			objectstate.Deletion{LeftoverName: before, DeleteSent: noon}))
		if p.recordLeftover(); p.state.LeftoverName != want {
			t.Errorf("it was %q, and is %q, want %q", before, p.state.LeftoverName, want)
		}
	}
}

// TestWhatAPassThatHasNotLookedKeeps verifies that with deterministic names a new process assumes a leftover until
// it has observed, unless a healthy object defers its pass.
func TestWhatAPassThatHasNotLookedKeeps(t *testing.T) {
	name := map[string]string{meta.AnnotationKeyExternalName: "data"}
	for reason, tc := range map[string]struct {
		last    lifecycle.Facts
		waiting bool
		seen    objectstate.CreationRef
		want    string
	}{
		"it has not looked yet": {lifecycle.Facts{}, false, objectstate.CreationRef{}, "data"},
		"it need not look yet":  {lifecycle.Facts{}, true, objectstate.CreationRef{}, ""},
		"it has looked before":  {lifecycle.Facts{}, false, objectstate.CreationRef{Name: "data"}, ""},
		"it has looked, and it may be there": {lifecycle.Facts{Presence: lifecycle.Absent, Doubt: lifecycle.Grace},
			false, objectstate.CreationRef{}, ""},
		"it has looked, and it is not there": {lifecycle.Facts{Presence: lifecycle.Absent}, false,
			objectstate.CreationRef{}, ""},
	} {
		mg := bearing(name)
		mg.SetFinalizers([]string{FinalizerName})
		p := passOf(mg, remembering(objectstate.Resource{Seen: tc.seen}),
			WithDeterministicExternalName(true))
		p.lastFacts, p.deferred = tc.last, tc.waiting
		if p.recordLeftover(); p.state.LeftoverName != tc.want {
			t.Errorf("%s: it leaves %q, want %q", reason, p.state.LeftoverName, tc.want)
		}
	}
}

// TestALeftoverIsReportedOnce verifies that a leftover is reported once for an object that other finalizers keep.
func TestALeftoverIsReportedOnce(t *testing.T) {
	p := passOf(bearing(nil), remembering(objectstate.Object{HadFinalizer: true},
		objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}}))
	for range 2 {
		p.warnLeft()
	}
	if len(p.events) != 1 || p.events[0].Reason != "ExternalResourceLeft" || p.events[0].Type != event.TypeWarning ||
		!strings.HasPrefix(p.events[0].Message, textUnheld) {
		t.Errorf("told %+v", p.events)
	}
}

// An objectRecorder records events with their objects.
type objectRecorder struct {
	of   []runtime.Object
	what []event.Event
}

func (r *objectRecorder) Event(o runtime.Object, e event.Event) {
	r.of, r.what = append(r.of, o), append(r.what, e)
}
func (r *objectRecorder) WithAnnotations(...string) event.Recorder { return r }

// leaving returns a reconciler that remembers an object which leaves "vol-1", and one that leaves nothing.
func leaving() (r *Reconciler, key, quiet types.NamespacedName) {
	r, key, quiet = passOf(bearing(nil), &objectState{}).r, types.NamespacedName{Namespace: "apps",
		Name: "data"}, types.NamespacedName{Namespace: "apps", Name: "quiet"}
	r.objects, r.empty = newObjectMemory(func(*objectState) {}), reflect.TypeFor[fake.Managed]()
	r.objects.Of(key, ownerUID).State = objectstate.State{
		Object:   objectstate.Object{HadFinalizer: true},
		Resource: objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}},
	}
	r.objects.Of(quiet, ownerUID)
	r.of.Group, r.of.Version, r.of.Kind = "g", "v1", "K"

	return r, key, quiet
}

// TestWhatACacheHasNoMoreMayBeThere verifies that an object that is missing from the cache is read live, within
// five seconds, if it has a leftover.
func TestWhatACacheHasNoMoreMayBeThere(t *testing.T) {
	another := bearing(nil)
	another.SetUID("uid-2")
	for name, tc := range map[string]struct {
		shows resource.Managed
		err   error
		want  bool
	}{
		"there": {bearing(nil), nil, true}, "another of the name": {another, nil, false},
		"nobody knows": {nil, errors.New("boom"), true},
	} {
		r, key, quiet := leaving()
		c := &timedCluster{liveCluster: liveCluster{shows: tc.shows}, err: tc.err}
		r.cluster = c
		if got := r.mayBeThere(t.Context(), key); got != tc.want || c.asked != 1 || c.left <= 0 ||
			c.left > 5*time.Second {
			t.Errorf("%s: it may be there is %t, asked %d times in %s", name, got, c.asked, c.left)
		}
		if r.mayBeThere(t.Context(), quiet) || r.mayBeThere(t.Context(), types.NamespacedName{Name: "nobody"}) ||
			c.asked != 1 {
			t.Errorf("%s: what leaves nothing may be there, asked %d times", name, c.asked)
		}
	}
}

// A kinded is an object that says of which kind it is.
type kinded struct {
	fake.Managed

	of metav1.TypeMeta
}

func (m *kinded) GetObjectKind() schema.ObjectKind { return &m.of }

// TestLeftoversOfADeletedObjectAreReported verifies that the leftover of a deleted object is reported by a warning
// with its name and UID.
func TestLeftoversOfADeletedObjectAreReported(t *testing.T) {
	for name, apart := range map[string]bool{"with all events": false, "with the warnings": true} {
		r, key, quiet := leaving()
		record, warn := &objectRecorder{}, &objectRecorder{}
		r.recorder, r.empty = record, reflect.TypeFor[kinded]()
		if apart {
			r.warningRecorder = warn
		}
		r.warnDeleted(key, ownerUID)
		r.warnDeleted(quiet, "uid-2")
		r.warnDeleted(types.NamespacedName{Name: "nobody"}, "uid-2")
		if len(record.of)+len(warn.of) > 0 {
			t.Errorf("%s: told of who is there, or leaves nothing: %v %v", name, record.what, warn.what)
		}
		r.warnDeleted(key, "uid-2")
		reported, silent := record, warn
		if apart {
			reported, silent = warn, record
		}
		if len(reported.of) != 1 || len(silent.of) != 0 || reported.what[0].Reason != "ExternalResourceLeft" ||
			!strings.Contains(reported.what[0].Message, `"vol-1"`) {
			t.Fatalf("%s: told %v %v", name, reported.what, silent.what)
		}
		mg, _ := reported.of[0].(resource.Managed)
		if kind := mg.GetObjectKind().GroupVersionKind().String(); mg.GetNamespace() != "apps" ||
			mg.GetName() != "data" || mg.GetUID() != ownerUID || kind != "g/v1, Kind=K" {
			t.Errorf("%s: told of %s %s/%s %s", name, kind, mg.GetNamespace(), mg.GetName(), mg.GetUID())
		}
	}
}

// TestAFinalizerThatWasTakenBeforeThisProcess verifies that a finalizer that was removed before this process began
// is reported if the resource was to be deleted and was not.
func TestAFinalizerThatWasTakenBeforeThisProcess(t *testing.T) {
	deleting := func(synced commonv1.Condition) []commonv1.Condition {
		return []commonv1.Condition{commonv1.Deleting(), synced}
	}
	done := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}
	failed, waited := commonv1.ReconcileError(errors.New("boom")),
		commonv1.ReconcileSuccess().WithMessage(textWaitingForFinalizers+"example.org/backup")
	others := []string{"example.org/backup"}
	orphaned := map[string]string{
		meta.AnnotationKeyCreateAttempt:  ownDone,
		meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan,
	}
	cases := map[string]struct {
		reason     string
		finalizers []string
		marks      map[string]string
		says       []commonv1.Condition
		change     func(*pass)
		want       bool
	}{
		"Failed": {"its last pass failed", others, nil, deleting(failed), nil, true},
		"Waited": {"its last pass waited for others", others, nil, deleting(waited), nil, true},
		"Ended": {"the last pass may have let it go", others, nil, deleting(commonv1.ReconcileSuccess()),
			nil, false},
		"Before": {"no pass has seen its deletion", others, nil,
			[]commonv1.Condition{commonv1.Available(), failed}, nil, false},
		"Alone": {"nobody keeps it", nil, nil, deleting(failed), nil, false},
		"Unclaimed": {"the other finalizer is there, and something was created", []string{UnclaimedFinalizer},
			done, nil, nil, true},
		"Nothing": {"it is, and nothing was created", []string{UnclaimedFinalizer}, nil, nil, nil, false},
		"UnclaimedKept": {"it is, and this process has seen the finalizer", []string{UnclaimedFinalizer}, done,
			nil, func(p *pass) { p.state.HadFinalizer = true }, false},
		"UnclaimedOrphan": {"it is, and the resource is to stay", []string{UnclaimedFinalizer}, orphaned, nil, nil,
			false},
		"Named": {"a name of our choice has no record, but it was there", []string{UnclaimedFinalizer}, nil,
			[]commonv1.Condition{commonv1.Available()},
			func(p *pass) { p.r.named = true }, true},
		"NamedDeleting": {"it was being deleted", []string{UnclaimedFinalizer}, nil, deleting(failed),
			func(p *pass) { p.r.named = true }, true},
		"NamedUnknown": {"nobody has said that it was there", []string{UnclaimedFinalizer}, nil,
			[]commonv1.Condition{commonv1.Creating()}, func(p *pass) { p.r.named = true }, false},
		"Kept": {"this process has seen the finalizer", others, nil, deleting(failed),
			func(p *pass) { p.state.HadFinalizer = true }, false},
		"Author's": {"an author's finalizer cannot be told by its name", others, nil, deleting(failed),
			func(p *pass) { p.r.finalizer = &authorsFinalizer{} }, false},
		"Orphan": {"the resource is to stay", others,
			map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan}, deleting(failed), nil,
			false},
	}
	for id, tc := range cases {
		mg := bearing(tc.marks)
		mg.SetFinalizers(tc.finalizers)
		mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		mg.SetConditions(tc.says...)
		p := passOf(mg, &objectState{})
		if tc.change != nil {
			tc.change(p)
		}
		if got := p.takenBefore(); got != tc.want {
			t.Errorf("%s: %s: got %t", id, tc.reason, got)
		}
	}
}

// TestAnAttemptThatStaysIsNamed verifies that an object that is removed without its resource reports the unresolved
// attempt.
func TestAnAttemptThatStaysIsNamed(t *testing.T) {
	unknown := map[string]string{meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early}
	done := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}
	for reason, tc := range map[string]struct {
		marks        map[string]string
		orphan, want bool
	}{
		"the resource is to stay":              {unknown, true, true},
		"the resource goes with the object":    {unknown, false, false},
		"what is to stay is known":             {done, true, false},
		"what goes with the object is known":   {done, false, false},
		"nothing was begun of what is to stay": {nil, true, false},
		"nothing was begun, and nothing stays": {nil, false, false},
	} {
		p := passOf(bearing(tc.marks), &objectState{})
		if tc.orphan {
			meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan})
		}
		if got := p.orphanedAttempt(); strings.Contains(got,
			"(the attempt to create it was "+ownID+")") != tc.want || (got != "") != tc.want {
			t.Errorf("%s: told %q", reason, got)
		}
	}
}

// TestANotOwnedResourceIsReportedAndReleased verifies that a deleted object that is not ours reports its leftover,
// and that only UnclaimedFinalizer is removed, without a requeue.
func TestANotOwnedResourceIsReportedAndReleased(t *testing.T) {
	boom, absent := errors.New("boom"), kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, "data")
	for name, tc := range map[string]struct {
		kept   []string
		sent   int
		answer error
		want   requeue
		err    error
	}{
		"others keep it":         {[]string{"example.org/kept"}, 0, nil, resync, nil},
		"nobody has claimed it":  {[]string{UnclaimedFinalizer}, 1, nil, never, nil},
		"and it is gone already": {[]string{UnclaimedFinalizer}, 1, absent, never, nil},
		"or cannot be let go":    {[]string{UnclaimedFinalizer}, 1, boom, never, boom},
	} {
		mg := bearing(nil)
		mg.SetFinalizers(tc.kept)
		mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		w := newStored(mg, remembering(objectstate.Object{HadFinalizer: true},
			objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}}))
		w.writes.answer = func() error { return tc.answer }
		if tc.answer != nil {
			w.liveCluster.shows = nil
		}
		o, err := w.ignore(t.Context())
		if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) ||
			err != nil && stageOf(err) != removingFinalizer || o.requeue != tc.want || o.name != "rested" ||
			len(w.writes.sent) != tc.sent {
			t.Errorf("%s: ended with %v and %+v, sent %q", name, err, o, w.writes.sent)
		}
		if len(w.events) != 1 || !strings.Contains(w.events[0].Message, `"vol-1"`) {
			t.Errorf("%s: told %+v", name, w.events)
		}
	}
}

// TestALeftoverOfAnEarlierProcessIsReported verifies that a leftover whose finalizer was removed before this
// process began is reported by its name.
func TestALeftoverOfAnEarlierProcessIsReported(t *testing.T) {
	mg := bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalName: "vol-1"})
	mg.SetFinalizers([]string{UnclaimedFinalizer})
	mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
	p := passOf(mg, &objectState{})
	if p.warnLeft(); len(p.events) != 1 || !strings.Contains(p.events[0].Message, `"vol-1"`) || !p.state.NoLeftover {
		t.Errorf("told %+v, it stays is %t", p.events, p.state.NoLeftover)
	}
}
