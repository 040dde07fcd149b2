package managed

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestAnAlteredName verifies that an object without an external name has no altered one.
func TestAnAlteredName(t *testing.T) {
	for name, tc := range map[string]struct {
		altered, bears string
		want           bool
	}{
		"none was altered, none is there": {"", "", false},
		"it is there":                     {"x-vol-1", "x-vol-1", true},
		"another was chosen":              {"x-vol-1", "vol-2", false},
	} {
		mg := bearing(nil)
		meta.SetExternalName(mg, tc.bears)
		if got := passOf(mg, remembering(objectstate.Attempts{Altered: tc.altered})).altered(mg); got != tc.want {
			t.Errorf("%s: altered %t", name, got)
		}
	}
}

// TestWhatWasStoredInsteadOfAName verifies that an altered name is remembered while it is stored, and that its
// reversal is an own write of the result.
func TestWhatWasStoredInsteadOfAName(t *testing.T) {
	for name, tc := range map[string]struct {
		before string
		stores bool
		left   string
	}{
		"it is taken back":     {stores: true},
		"to what a user chose": {before: "vol-0", stores: true}, "it stays": {left: "x-vol-1"},
	} {
		registry := prometheus.NewRegistry()
		mg := marked(early, "", "", ownID)
		meta.SetExternalName(mg, "x-vol-1")
		w := newStored(mg, remembering(objectstate.Attempts{Altered: "x-vol-0"}),
			WithMetricsRegisterer(registry))
		w.writes.stores = tc.stores
		w.misnamed(t.Context(), map[string]string{meta.AnnotationKeyExternalName: tc.before},
			map[string]any{meta.AnnotationKeyExternalName: "vol-1"})
		if w.state.Altered != tc.left {
			t.Errorf("%s: %q is remembered", name, w.state.Altered)
		}
		if got := sample(t, registry, "moorage_managed_writes_total", "what")["result"]; got != 1 {
			t.Errorf("%s: %v results were written", name, got)
		}
		if !w.state.isOwnEcho(meta.AnnotationKeyExternalName, "x-vol-1") ||
			!w.state.isOwnEcho(meta.AnnotationKeyExternalName, tc.before) {
			t.Errorf("%s: the names are not known to be ours", name)
		}
	}
}

// TestAnAttemptIsFoundByTheNameOfTheObject verifies that an unresolved attempt has succeeded once its resource is
// found, also by the former name of the object.
func TestAnAttemptIsFoundByTheNameOfTheObject(t *testing.T) {
	for _, before := range []string{"vol-1", "vol-0", ""} {
		w := newStored(bearing(map[string]string{
			meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early,
		}), &objectState{})
		meta.SetExternalName(w.mg, before)
		w.recoverer = &finder{name: "vol-1"}
		err := w.pass.recover(t.Context())
		if got := w.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]; err != nil || got != ownDone ||
			w.recoveredUnobserved || len(w.writes.sent) != 1 {
			t.Errorf("named %q before: error %v, the attempt is %q, shown %t, sent %v", before, err, got,
				w.recoveredUnobserved, w.writes.sent)
		}
	}
}

// TestWhatWasOursUnderAChosenName verifies that with deterministic names an object that was ready, or being
// deleted, owns its resource.
func TestWhatWasOursUnderAChosenName(t *testing.T) {
	for name, tc := range map[string]struct {
		ready commonv1.Condition
		state *objectState
		want  bool
	}{
		"ready":        {commonv1.Available(), &objectState{}, true},
		"it goes":      {commonv1.Deleting(), &objectState{}, true},
		"not made yet": {commonv1.Creating(), &objectState{}, false},
		"nothing":      {commonv1.Condition{}, &objectState{}, false},
		"seen": {commonv1.Creating(),
			remembering(objectstate.Resource{Seen: objectstate.CreationRef{Name: "vol-1"}}), true},
		"created": {commonv1.Creating(),
			remembering(objectstate.Resource{Creation: createdHere}), true},
		"another": {commonv1.Creating(), remembering(objectstate.Resource{Creation: ownDone}),
			false},
	} {
		p := passOf(bearing(nil), tc.state)
		p.r.named = true
		if tc.ready.Type != "" {
			p.read.SetConditions(tc.ready)
		}
		if got := p.wasOurs(); got != tc.want {
			t.Errorf("%s: ours %t", name, got)
		}
	}
}

// TestTheStampOfAnotherOwnerIsReported verifies that a resource that is left to another owner is reported with its
// stamp.
func TestTheStampOfAnotherOwnerIsReported(t *testing.T) {
	for stamp, reported := range map[Stamp]bool{"": false, "there/uid-2": true} {
		p := passOf(bearing(nil), &objectState{})
		p.observation.OwnerStamp = stamp
		if text := p.ownerChangedText(); strings.Contains(text, "its stamp is") != reported ||
			!strings.Contains(text, string(stamp)) {
			t.Errorf("stamp %q: told %s", stamp, text)
		}
	}
}

// TestWhatIsRecollectedOfAnAttempt verifies that the attempt in question is read from the condition Created,
// whatever its error.
func TestWhatIsRecollectedOfAnAttempt(t *testing.T) {
	for mark, want := range map[string]struct {
		called string
		made   bool
	}{ownID: {called: ownID}, ownID + "/" + attempt.Failed: {called: ownID}, ownDone: {made: true}} {
		p := passOf(bearing(nil), remembering())
		ref := objectstate.CreationRef{Mark: mark, Name: "vol-1"}
		p.mg.SetConditions(commonv1.Condition{
			Type: commonv1.TypeCreated, Status: metav1.ConditionUnknown, Reason: commonv1.ReasonUnresolved,
			Message: ref.String(), LastTransitionTime: metav1.NewTime(noon),
		})
		p.readCreationFromStatus()
		if p.state.Called.Attempt != want.called || (p.state.Made == ref) != want.made {
			t.Errorf("%s: recollected %+v and %+v", mark, p.state.Called, p.state.Made)
		}
	}
}

// TestTheContextsOfRequestsEnd verifies that the context of a request is canceled after it, also if it fails.
func TestTheContextsOfRequestsEnd(t *testing.T) {
	of := fake.GVK(&fake.Managed{})
	c := &failingReader{askedReader: askedReader{scheme: runtime.NewScheme()}}
	c.scheme.AddKnownTypeWithName(of, &fake.Managed{})
	c.scheme.AddKnownTypeWithName(of.GroupVersion().WithKind(of.Kind+"List"), &listOfManaged{})
	r := madeWith()
	r.cluster = c
	if err := r.list(t.Context(), "apps", map[types.NamespacedName]resource.Managed{}); err == nil ||
		c.context.Err() == nil {
		t.Errorf("error %v, the context goes on: %v", err, c.context)
	}
	c.context = nil
	d := &missingRecord{key: types.NamespacedName{Name: "data"}, state: &objectState{}}
	if r.writeRecord(t.Context(), d) || c.context == nil || c.context.Err() == nil {
		t.Errorf("the context of a read goes on: %v", c.context)
	}
}

// A failingReader notes the context of a request, which fails.
type failingReader struct {
	askedReader

	context context.Context //nolint:containedctx // it is what is tested
}

func (c *failingReader) GetAPIReader() client.Reader { return c }

func (c *failingReader) Get(ctx context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	c.context = ctx

	return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name)
}

func (c *failingReader) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	c.context = ctx

	return errors.New("boom")
}

// TestTheRecordOfAnAttemptIsNotMasked verifies that the record in the condition Created is not redacted, also if
// its name is a connection detail.
func TestTheRecordOfAnAttemptIsNotMasked(t *testing.T) {
	const name = "a-name-that-is-long"
	for mark, masked := range map[string]bool{ownID: false, ownDone: false, foreignID: true} {
		p := endingPass()
		p.observedDetails = []ConnectionDetails{{"name": []byte(name)}}
		p.mg = bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownID})
		if mark == ownDone {
			p.mg = bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone})
		}
		meta.SetExternalName(p.mg, name)
		mine := []commonv1.Condition{{
			Type:    commonv1.TypeCreated,
			Message: objectstate.CreationRef{Mark: mark, Name: name}.String(),
		}}
		if p.concealIn(nil, mine); strings.Contains(mine[0].Message, name) == masked {
			t.Errorf("%s: the condition says %s", mark, mine[0].Message)
		}
	}
}

// TestForgottenWarningsTakeNothing verifies that forgotten warnings take no memory.
func TestForgottenWarningsTakeNothing(t *testing.T) {
	p := endingPass()
	p.state.LastWarnings = map[string]string{"A": "a", "B": "b"}
	if p.forgetWarnings("A"); len(p.state.LastWarnings) != 1 {
		t.Errorf("remembered %v", p.state.LastWarnings)
	}
	if p.forgetWarnings(""); p.state.LastWarnings != nil {
		t.Errorf("remembered %v", p.state.LastWarnings)
	}
}

// TestKnownLabelsCostNothing verifies that known label sets are shared without an allocation.
func TestKnownLabelsCostNothing(t *testing.T) {
	s, labels := &labelSets{}, map[string]string{"fleet": "a"}
	first := s.shared(labels)
	if n := testing.AllocsPerRun(10, func() { s.shared(first) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestANameThatGoesAlongIsChecked verifies that a name that is written with its result is checked before.
func TestANameThatGoesAlongIsChecked(t *testing.T) {
	w := newStored(bearing(map[string]string{meta.AnnotationKeyExternalName: "\xffvol-1"}), &objectState{})
	meta.AddAnnotations(w.mg, map[string]string{meta.AnnotationKeyCreateAttempt: ownDone})
	err := w.store(t.Context(), 0)
	if named := (*unstorableNameError)(nil); !errors.As(err, &named) || len(w.writes.sent) > 0 {
		t.Errorf("error %v, sent %q", err, w.writes.sent)
	}
}

// TestTheMemoryOfAPassIsLeftAlone verifies that the write back does not change the memory of an object whose pass
// is under way.
func TestTheMemoryOfAPassIsLeftAlone(t *testing.T) {
	for name, passes := range map[string]bool{"a pass works on it": true, "none does": false} {
		r, _, key := leaving()
		shows := made()
		shows.SetNamespace(key.Namespace)
		r.client = readClient{reader: &liveCluster{shows: shows}}
		if passes {
			r.inFlight.add(key)
		}
		known, found := r.objects.Peek(key, ownerUID), 0
		for _, d := range r.compare(t.Context(), map[types.NamespacedName]resource.Managed{key: shows}) {
			if d.key != key {
				continue
			}
			if found++; (d.state == known) != passes {
				t.Errorf("%s: its memory is left alone %t", name, d.state == known)
			}
		}
		if found != 1 {
			t.Errorf("%s: it is compared %d times", name, found)
		}
	}
}

// A readClient reads from a reader.
type readClient struct {
	client.Client

	reader client.Reader
}

func (c readClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, o, options...)
}

// TestNothingThatIsKnownWasGivenUp verifies that nothing counts as abandoned without a known record.
func TestNothingThatIsKnownWasGivenUp(t *testing.T) {
	mg := bearing(nil)
	mg.SetConditions(commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionFalse, Reason: commonv1.ReasonGivenUp,
	})
	if passOf(mg, &objectState{}).gaveUp() {
		t.Error("something was given up")
	}
}

// TestWhatIsNotTakenBack verifies that only an altered name is reverted, and no earlier record.
func TestWhatIsNotTakenBack(t *testing.T) {
	const name, succeeded, attempt, pending = meta.AnnotationKeyExternalName,
		meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyCreateAttempt,
		meta.AnnotationKeyExternalCreatePending
	record := map[string]string{attempt: ownDone, pending: early, succeeded: later}
	for what, tc := range map[string]struct {
		stored string
		sent   map[string]any
		back   string
	}{
		"no name was sent":   {"vol-1", map[string]any{attempt: ownDone}, ""},
		"none is stored":     {"", map[string]any{name: "vol-1"}, ""},
		"the same is stored": {"vol-1", map[string]any{name: "vol-1"}, ""},
		"another is stored": {"x-vol-1", map[string]any{name: "vol-1", succeeded: later, attempt: ownDone},
			`{"` + name + `":null}`},
		"the name was not there": {"x-vol-1", map[string]any{name: "vol-1"}, `{"` + name + `":null}`},
	} {
		mg := bearing(record)
		meta.SetExternalName(mg, tc.stored)
		w := newStored(mg, remembering())
		w.misnamed(t.Context(), record, tc.sent)
		if sent := strings.Join(w.writes.sent, ""); !strings.Contains(sent, tc.back) ||
			(sent == "") != (tc.back == "") || (w.state.Unwritten == nil) != (sent == "") {
			t.Errorf("%s: sent %s, remembered %v", what, sent, w.state.Unwritten)
		}
	}
}

// TestMarkResultWithoutAPendingMark verifies that a result without a pending mark says nothing about the beginning.
func TestMarkResultWithoutAPendingMark(t *testing.T) {
	for began, want := range map[string]bool{"": false, early: true} {
		mg := marked(began, "", "", ownID)
		w := newStored(mg, &objectState{})
		before := clone(w.mg).GetAnnotations()
		_ = w.recordResult(t.Context(), before, nil) // the answer is not what was sent
		if len(w.writes.sent) == 0 || strings.Contains(w.writes.sent[0],
			meta.AnnotationKeyExternalCreatePending) != want {
			t.Errorf("begun %q: sent %v", began, w.writes.sent)
		}
	}
}

// TestAnOverdueCallAfterTheLease verifies that a process after its lease reports no overdue call: the status may be
// newer.
func TestAnOverdueCallAfterTheLease(t *testing.T) {
	for left, reported := range map[time.Duration]bool{time.Minute: true, -time.Second: false} {
		p, c, live := newWriting(stores, WithLeaseDeadline(func() time.Time { return noon.Add(left) }))
		p.r.empty, p.r.telemetry = reflect.TypeFor[fake.Managed](), p.r.newTelemetry()
		err := p.r.markOverdue(t.Context(), call{
			object: client.ObjectKeyFromObject(live.shows), uid: ownerUID, what: "Update",
		})
		if (err == nil) != reported || !reported && !errors.Is(err, errFenced) || (len(c.sent) == 1) != reported {
			t.Errorf("%s are left of the lease: error %v, wrote %v", left, err, c.sent)
		}
	}
}

// TestARestoredRecordIsReportedOnceStored verifies that a restored record is reported once it is stored.
func TestARestoredRecordIsReportedOnceStored(t *testing.T) {
	for name, answer := range map[string]error{"stored": nil, "not stored": errors.New("boom")} {
		mg := bearing(nil)
		meta.SetExternalName(mg, "vol-2")
		w := newStored(mg, remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone,
			Name: "vol-1"}}))
		w.writes.answer = func() error { return answer }
		if err := w.restoreReplaced(t.Context()); (err == nil) != (answer == nil) ||
			len(w.events) != map[bool]int{true: 1}[answer == nil] {
			t.Errorf("%s: error %v, told %+v", name, err, w.events)
		}
	}
}

// TestWhichAnswersAreStored verifies that an answer is stored if it changes the record, or notes its removal.
func TestWhichAnswersAreStored(t *testing.T) {
	for answer, want := range map[lifecycle.Answer]bool{
		lifecycle.Unanswered: false, lifecycle.GivenUp: false, lifecycle.Taken: true, lifecycle.Answered: true,
		lifecycle.Overruled: false,
	} {
		p := passOf(bearing(nil), remembering())
		if p.applyAnswer(answer); p.restored != want {
			t.Errorf("answer %d: stored %t", answer, p.restored)
		}
	}
}

// TestAPreparationThatCannotBeStored verifies that nothing of an unstorable preparation is stored.
func TestAPreparationThatCannotBeStored(t *testing.T) {
	for broken, want := range map[string]bool{"": true, "x": false} {
		w := newStored(&lateManaged{}, &objectState{},
			WithInitializers(InitializerFn(func(_ context.Context, mg resource.Managed) error {
				mg.SetLabels(map[string]string{"fleet": "a"})
				mg.(*lateManaged).Spec.Tier, mg.(*lateManaged).Spec.Bad = "gold", bad(broken)

				return nil
			})))
		w.r.empty = reflect.TypeFor[lateManaged]()
		if err := w.prepare(t.Context()); (err == nil) != want || (len(w.initLabels) > 0) != want ||
			(len(w.initPatch) > 0) != want {
			t.Errorf("%q: error %v, labels %v, fields %v are to be stored", broken, err, w.initLabels, w.initPatch)
		}
	}
}

// TestTheAttemptOfANameThatIsNotStored verifies that an unstorable name is remembered with the attempt of the
// object, if there is one.
func TestTheAttemptOfANameThatIsNotStored(t *testing.T) {
	for bears, want := range map[string]int{ownID: 2, "": 1} {
		mg := marked(early, "", "", bears)
		meta.SetExternalName(mg, "x-vol-1")
		w := newStored(mg, remembering())
		w.misnamed(t.Context(), nil, map[string]any{meta.AnnotationKeyExternalName: "vol-1"})
		if len(w.state.Unwritten) != want || w.state.Unwritten[meta.AnnotationKeyCreateAttempt] != bears ||
			w.state.Unwritten[meta.AnnotationKeyExternalName] != "vol-1" {
			t.Errorf("attempt %q: remembered %v", bears, w.state.Unwritten)
		}
	}
}

// TestACallWithinAnother verifies that a pass waits for the outer call again once the inner one has returned.
func TestACallWithinAnother(t *testing.T) {
	p, c := &passOf(bearing(nil), &objectState{}).journal, &calls{}
	function := func() string { return c.of[p].what }
	none := c.begin(p, "outer")
	outer := c.begin(p, "inner")
	if none.what != "" || outer.what != "outer" || function() != "inner" {
		t.Errorf("within %q and %q, it waits for %q", none.what, outer.what, function())
	}
	if c.end(p, outer); function() != "outer" {
		t.Errorf("after the inner one it waits for %q", function())
	}
	if c.end(p, none); len(c.of) != 0 {
		t.Errorf("after both it waits for %v", c.of)
	}
}
