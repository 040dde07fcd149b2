package managed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestConditionsAreOfTheirPass verifies that conditions have the generation and time of the pass that changes them,
// also those of the author's code.
func TestConditionsAreOfTheirPass(t *testing.T) {
	p := endingPass()
	p.setCondition(commonv1.Condition{})
	if c := p.mg.GetCondition(""); c.Status != "Unknown" || c.Reason != "" {
		t.Errorf("a condition without a type is set: %+v", c)
	}
	p.setCondition(commonv1.Available())
	c := p.mg.GetCondition(commonv1.TypeReady)
	if c.Status != "True" || c.ObservedGeneration != 3 || !c.LastTransitionTime.Time.Equal(noon) {
		t.Errorf("set is %+v", c)
	}
	before := commonv1.ReconcileSuccess()
	before.ObservedGeneration, before.LastTransitionTime = 3, metav1.NewTime(noon.Add(-time.Hour))
	p.mg.SetConditions(before)
	stamped := p.mg.GetCondition(commonv1.TypeSynced)
	stamped.ObservedGeneration = 3
	p.mg.SetConditions(stamped)
	p.stamp()
	p.setCondition(commonv1.ReconcileSuccess())
	if c := p.mg.GetCondition(commonv1.TypeSynced); !c.LastTransitionTime.Equal(&before.LastTransitionTime) ||
		c.ObservedGeneration != 3 {
		t.Errorf("what the object says already is said again: %+v", c)
	}
	for _, of := range []commonv1.ConditionType{
		commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeCreated,
		commonv1.TypeReconciling, commonv1.TypeStalled,
	} {
		p.mg.SetConditions(commonv1.Condition{Type: of, Status: "True", Reason: "SetByAClient"})
		p.stamp()
		if c := p.mg.GetCondition(of); c.ObservedGeneration != 3 {
			t.Errorf("%s, set by a client, is of generation %d", of, c.ObservedGeneration)
		}
	}

	old, fresh, marked := commonv1.Condition{Type: "Old", Reason: "A"}, commonv1.Condition{Type: "New",
		Reason: "B"}, commonv1.Condition{Type: "Marked", ObservedGeneration: 2}
	mine := []commonv1.Condition{old, fresh, marked}
	stampOthers([]commonv1.Condition{old}, mine, 3)
	if mine[0].ObservedGeneration != 0 || mine[1].ObservedGeneration != 3 || mine[2].ObservedGeneration != 2 {
		t.Errorf("generations of the conditions of others: %+v", mine)
	}
}

// TestStatusChanged verifies that a status of another pass is recognized by Ready and Synced, and is a conflict
// that names the object.
func TestStatusChanged(t *testing.T) {
	for of, want := range map[commonv1.ConditionType]bool{
		commonv1.TypeReady: true, commonv1.TypeSynced: true, commonv1.TypeUpToDate: false, "Other": false,
	} {
		p := endingPass()
		now := clone(p.read)
		now.SetConditions(commonv1.Condition{Type: of, Status: "False", Reason: "Since"})
		if got := p.statusChanged(now); got != want || p.statusChanged(clone(p.read)) {
			t.Errorf("%s is another: overtaken %t, want %t", of, got, want)
		}
	}
	p := endingPass()
	err := p.conflict("somebody was quicker")
	want := `Operation cannot be fulfilled on ` + p.r.of.Kind
	if group := p.r.of.Group; group != "" {
		want += "." + group
	}
	want += ` "data": somebody was quicker`
	if !kerrors.IsConflict(err) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestAVolatileStatusChangeIsDelayed verifies that a change of volatile fields only is delayed by its interval,
// from when it was first seen.
func TestAVolatileStatusChangeIsDelayed(t *testing.T) {
	volatile := map[string]any{"used": 7}
	cases := map[string]struct {
		patch    map[string]any
		interval time.Duration
		written  time.Time
		want     bool
	}{
		"nothing":               {map[string]any{}, time.Minute, noon.Add(-time.Hour), false},
		"more than that":        {map[string]any{"used": 7, "id": "x"}, time.Minute, noon, true},
		"seen first":            {volatile, time.Minute, time.Time{}, false},
		"within its interval":   {volatile, time.Minute, noon.Add(-59 * time.Second), false},
		"after its interval":    {volatile, time.Minute, noon.Add(-time.Minute), true},
		"never":                 {volatile, 0, noon.Add(-time.Hour), false},
		"never, and seen first": {volatile, 0, time.Time{}, false},
	}
	for name, tc := range cases {
		p := endingPass(WithVolatileStatus("used"), WithVolatileStatusInterval(tc.interval))
		p.state.VolatileWritten = tc.written
		if got := p.worthWriting(objectjson.Status{}, tc.patch); got != tc.want {
			t.Errorf("%s: worth writing %t, want %t", name, got, tc.want)
		}
		if volatile := len(tc.patch) == 1; volatile && p.state.VolatileWritten.IsZero() {
			t.Errorf("%s: nobody knows since when it waits", name)
		}
	}
}

// TestPredicateOfFinalizers verifies that the predicate passes the removal of our finalizer and changes of others.
func TestPredicateOfFinalizers(t *testing.T) {
	object := func(deleted bool, finalizers ...string) resource.Managed {
		mg := bearing(nil)
		mg.SetFinalizers(finalizers)
		if deleted {
			mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}

		return mg
	}
	cases := map[string]struct {
		before, now resource.Managed
		want        bool
	}{
		"ours is taken":         {object(false, FinalizerName), object(false), true},
		"ours is removed":       {object(true, FinalizerName), object(true), false},
		"ours is added":         {object(false), object(false, FinalizerName), false},
		"ours is there":         {object(false, FinalizerName), object(false, FinalizerName), false},
		"unclaimed is replaced": {object(false, UnclaimedFinalizer), object(false, FinalizerName), false},
		"another is taken":      {object(false, "a", FinalizerName), object(false, FinalizerName), true},
		"another of a deleted":  {object(true, "a", FinalizerName), object(true, FinalizerName), true},
		"it is deleted":         {object(false, FinalizerName), object(true, FinalizerName), true},
	}
	predicate := madeWith().Predicate()
	for name, tc := range cases {
		if got := predicate.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.now}); got != tc.want {
			t.Errorf("%s: asks for a pass %t, want %t", name, got, tc.want)
		}
	}
	if predicate.Update(event.UpdateEvent{ObjectOld: object(false)}) ||
		predicate.Update(event.UpdateEvent{ObjectNew: object(false)}) {
		t.Error("half of an event asks for a pass")
	}
}

// TestPartsOfAPatch verifies that an annotation patch has only the differences, and the known UID and version as
// preconditions.
func TestPartsOfAPatch(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after map[string]string
		want          map[string]any
	}{
		"none":     {nil, nil, map[string]any{}},
		"the same": {map[string]string{"a": "1"}, map[string]string{"a": "1"}, map[string]any{}},
		"all ways": {map[string]string{"a": "1", "b": "2", "c": "3"}, map[string]string{"a": "1", "b": "4", "d": ""},
			map[string]any{"b": "4", "c": nil, "d": ""}},
	} {
		if diff := cmp.Diff(tc.want, difference(tc.before, tc.after)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
	p := endingPass()
	p.mg.SetResourceVersion("7")
	if diff := cmp.Diff(map[string]any{"uid": ownerUID, "resourceVersion": "7", "a": 1},
		p.precondition(map[string]any{"a": 1})); diff != "" {
		t.Errorf("precondition: -want, +got:\n%s", diff)
	}
	p.mg.SetResourceVersion("")
	p.mg.SetUID("")
	if diff := cmp.Diff(map[string]any{}, p.precondition(map[string]any{})); diff != "" {
		t.Errorf("precondition of what is not known: -want, +got:\n%s", diff)
	}
	for name, change := range map[string]func(p *pass){
		"fields":      func(p *pass) { p.initPatch = map[string]any{"a": 1} },
		"labels":      func(p *pass) { p.initLabels = map[string]any{"a": 1} },
		"late":        func(p *pass) { p.lateInitPatch = map[string]any{"a": 1} },
		"annotations": func(p *pass) { p.mg.SetAnnotations(map[string]string{"a": "1"}) },
	} {
		p := endingPass()
		if p.learned() {
			t.Error("nothing is something to store")
		}
		if change(p); !p.learned() {
			t.Errorf("%s are nothing to store", name)
		}
	}
}

// TestWhoIsAnotherObject verifies that only Invalid for the UID means another object of the same name.
func TestWhoIsAnotherObject(t *testing.T) {
	invalid := func(field string) error {
		err := kerrors.NewInvalid(schema.GroupKind{Kind: "Volume"}, "data", nil)
		if field != "" {
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "spec"}, {Field: field}}
		}

		return err
	}
	bare := kerrors.NewInvalid(schema.GroupKind{Kind: "Volume"}, "data", nil)
	bare.ErrStatus.Details = nil
	conflicting := kerrors.NewConflict(schema.GroupResource{}, "data", errors.New("boom"))
	conflicting.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "metadata.uid"}}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"its uid":       {invalid("metadata.uid"), true},
		"wrapped":       {errors.Wrap(invalid("metadata.uid"), "cannot"), true},
		"another field": {invalid("metadata.name"), false},
		"no field":      {invalid(""), false}, "no details": {bare, false}, "a conflict": {conflicting, false},
		"none": {nil, false}, "plain": {errors.New("boom"), false},
	} {
		if got := anotherUID(tc.err); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

// TestAResultIsWrittenPersistently verifies that a result is retried until it is stored, cannot be stored, or the
// time is over.
func TestAResultIsWrittenPersistently(t *testing.T) {
	boom, dropped := errors.New("boom"), &notStoredError{[]string{"annotation a"}}
	cases := map[string]struct {
		answers []error // the last again and again
		tries   int
		want    error
	}{
		"at once":         {[]error{nil}, 1, nil},
		"later":           {[]error{boom, boom, nil}, 3, nil},
		"replaced":        {[]error{boom, errReplaced}, 2, errReplaced},
		"never stored":    {[]error{boom, dropped}, 2, dropped},
		"not in the time": {[]error{boom}, -1, boom},
	}
	for name, tc := range cases {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			tries, least, most := 0, time.Hour, time.Duration(0)
			err := persistently(ctx, func(ctx context.Context) error {
				end, _ := ctx.Deadline()
				least, most = min(least, time.Until(end)), max(most, time.Until(end))
				tries++

				return tc.answers[min(tries, len(tc.answers))-1]
			})
			if tries != tc.tries && tc.tries >= 0 || !errors.Is(err, tc.want) || most != requestTimeout {
				t.Errorf("%s: %d tries of %s to %s, %v", name, tries, least, most, err)
			}
			if tc.tries < 0 && (tries < 9 || tries > 16) {
				t.Errorf("%s: %d tries in ten seconds", name, tries)
			}
		})
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := persistently(done, func(context.Context) error { return nil }); err != nil &&
		!errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestWhatAWriteHasToStore verifies that all missing parts of an answer are named.
func TestWhatAWriteHasToStore(t *testing.T) {
	pending := meta.AnnotationKeyExternalCreatePending
	answer := bearing(map[string]string{pending: "now", "clients": "a"})
	answer.SetLabels(map[string]string{"tier": "gold"})
	answer.SetFinalizers([]string{FinalizerName})
	bare := bearing(nil)
	all := map[string]any{pending: "now", "clients": "a", meta.AnnotationKeyExternalName: nil}
	labels := map[string]any{"tier": "silver", "gone": nil}
	hold := []string{"a", FinalizerName}
	said := func(fields string) string {
		return "the API server accepted a write and did not store " + fields +
			": change the admission webhook, the admission policy or the proxy that drops or changes them; " +
			"nothing is created until they are stored, and nothing is called by another name"
	}
	for name, tc := range map[string]struct {
		sent, labels map[string]any
		finalizers   []string
		answer       resource.Managed
		want         string
	}{
		"all is stored":           {all, labels, hold, answer, ""},
		"nothing was sent":        {nil, nil, nil, bare, ""},
		"a client's annotation":   {map[string]any{"clients": "b"}, nil, nil, bare, ""},
		"another finalizer":       {nil, nil, []string{"a"}, bare, ""},
		"another value of a mark": {map[string]any{pending: "later"}, nil, nil, answer, said("annotation " + pending)},
		"nothing is stored": {all, labels, hold, bare,
			said("annotation " + pending + ", finalizer " + FinalizerName + ", label tier")},
	} {
		err := checkStored(tc.sent, tc.labels, tc.finalizers, tc.answer)
		if got := fmt.Sprint(err); err != nil && got != tc.want || err == nil && tc.want != "" ||
			isNotStored(err) != (tc.want != "") {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	room := 256<<10 - 2<<10
	if err := checkRoom(map[string]string{"key": strings.Repeat("x", room-3)}); err != nil {
		t.Errorf("there is room: %v", err)
	}
	want := fmt.Sprintf("the annotations of the object have %d bytes, and the API server stores 262144 at most: remove "+
		"some, so that there is room for "+
		"2048 bytes in which the result of a creation is recorded; nothing is created until then", room+1)
	if err := checkRoom(map[string]string{"key": strings.Repeat("x", room-2)}); err == nil || err.Error() != want {
		t.Errorf("there is no room: %v", err)
	}
}

// TestMessagesOfAPassHaveNoSecrets verifies that new messages contain no secret of the pass, and that earlier ones
// are not changed.
func TestMessagesOfAPassHaveNoSecrets(t *testing.T) {
	p := endingPass()
	p.read.SetAnnotations(map[string]string{"endpoint": "https://example.org/db"})
	p.observedDetails = []ConnectionDetails{{
		"password": []byte("correct horse battery"), "endpoint": []byte("https://example.org/db"),
	}}
	was := commonv1.Condition{Type: "A", Message: "correct horse battery, as it was"}
	mine := []commonv1.Condition{
		was, {Type: "B", Message: "correct horse battery, as it was"}, {
			Type: "A", Message: "correct horse battery at https://example.org/db",
		}, {Type: "C"},
	}
	p.concealIn([]commonv1.Condition{was}, mine)
	if mine[0] != was || strings.Contains(mine[1].Message, "horse") || strings.Contains(mine[2].Message, "horse") ||
		mine[3].Message != "" {
		t.Errorf("messages %+v", mine)
	}
	if !strings.Contains(mine[2].Message, "https://example.org/db") {
		t.Errorf("%q hides what the object shows", mine[2].Message)
	}
	if p.redact(nil) != nil {
		t.Error("no error is one")
	}
	if err := p.redact(errors.New("with correct horse battery")); strings.Contains(err.Error(), "horse") {
		t.Errorf("error %v", err)
	}
	p.observedDetails = append(p.observedDetails, ConnectionDetails{"token": []byte("another long secret")})
	if err := p.redact(errors.New("with another long secret")); strings.Contains(err.Error(), "long") {
		t.Errorf("what became known since is in the error %v", err)
	}
	hidden := map[string][]byte{"1": nil, "2": nil, "3": nil, "4": nil, "5": nil}
	withoutTexts(hidden, map[string]any{"a": "1", "b": []any{"2", map[string]any{"c": "3"}, 4.0}})
	if diff := cmp.Diff(map[string][]byte{"4": nil, "5": nil}, hidden); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestWhomAStampNames verifies that a stamp identifies one object.
func TestWhomAStampNames(t *testing.T) {
	mg := bearing(nil)
	mg.SetNamespace("default")
	stamp := NewStamp("here", schema.GroupKind{Group: "example.org", Kind: "Volume"}, mg)
	if want := Stamp("here/example.org/Volume/default/data/uid-1"); stamp != want {
		t.Fatalf("%s, want %s", stamp, want)
	}
	for _, tc := range []struct {
		found                 Stamp
		owner                 Owner
		alike                 bool
		namespace, ofTheOther string
	}{
		{"", OwnerNone, false, "", ""},
		{stamp, OwnerOurs, true, "default", "here"},
		{"there/example.org/Volume/default/data/uid-2", OwnerOther, true, "default", "there"},
		{"here/example.com/Volume/default/data/uid-1", OwnerOther, false, "default", "here"},
		{"here/example.org/Volume/other/data/uid-1", OwnerOther, false, "other", "here"},
		{"here/example.org/Volume/default/data", OwnerOther, false, "", ""},
		{"here/example.org/Volume/default/data/uid-1/more", OwnerOther, false, "", ""},
	} {
		if got := stamp.Owner(string(tc.found)); got != tc.owner {
			t.Errorf("%q is of %v", tc.found, got)
		}
		if stamp.names(tc.found) != tc.alike || tc.found.names(stamp) != tc.alike ||
			tc.found.Namespace() != tc.namespace || tc.found.cluster() != tc.ofTheOther {
			t.Errorf("%q names the same %t, namespace %q, cluster %q", tc.found, stamp.names(tc.found),
				tc.found.Namespace(), tc.found.cluster())
		}
	}
}
