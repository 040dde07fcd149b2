package managed

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// unwrittenPass returns a pass with an unwritten result of an earlier Create, and a server with an attempt
// without one. The answers are those to its writes.
func unwrittenPass(result string, change func(*pass), answers ...func(*liveCluster) error) (*pass, *patchingClient) {
	mg := marked(early, "", "", ownID)
	mg.SetUID(ownerUID)
	mg.SetName("data")
	mg.SetResourceVersion("7")
	p := passOf(clone(mg), remembering(objectstate.Attempts{Unwritten: map[string]string{
		meta.AnnotationKeyExternalName: "vol-1", meta.AnnotationKeyCreateAttempt: ownID + "/" + result,
	}}))
	p.newest = clone(mg)
	if change != nil {
		change(p)
	}
	c := &liveCluster{shows: clone(mg)}
	writes := &patchingClient{}
	writes.answer = func() error { return answers[min(len(writes.sent), len(answers))-1](c) }
	p.r.client, p.r.cluster, p.r.empty = writes, c, reflect.TypeFor[fake.Managed]()
	p.r.telemetry = p.r.newTelemetry()

	return p, writes
}

// TestAReplaceWhileAnUnwrittenResultIsStored verifies that a replace between the read and the write keeps the
// unwritten result for the next pass.
func TestAReplaceWhileAnUnwrittenResultIsStored(t *testing.T) {
	conflict := func(shows *fake.Managed) func(*liveCluster) error {
		return func(c *liveCluster) error {
			c.shows = clone(shows)
			c.shows.SetUID(ownerUID)
			c.shows.SetName("data")
			c.shows.SetResourceVersion("8")

			return kerrors.NewConflict(schema.GroupResource{Resource: "volumes"}, "data", errors.New("changed"))
		}
	}
	drops := func(*liveCluster) error { return &notStoredError{[]string{"annotation a"}} }
	for name, tc := range map[string]struct {
		shows  *fake.Managed
		writes int
	}{
		"all annotations are gone":   {marked("", "", "", ""), 2},
		"another attempt has begun":  {marked(later, "", "", "b"), 2},
		"only its finalizer is gone": {marked(early, "", "", ownID), 3},
	} {
		for what, change := range map[string]func(*pass){
			"of a whole result":      nil,
			"of the attempt's alone": func(p *pass) { delete(p.state.Unwritten, meta.AnnotationKeyExternalName) },
		} {
			p, writes := unwrittenPass(attempt.Succeeded, change, conflict(tc.shows), drops)
			err := p.writeUnwritten(t.Context())
			if err == nil || stageOf(err) != recording || p.state.Unwritten == nil {
				t.Errorf("%s, %s: it ended with %v, and %v is kept", name, what, err, p.state.Unwritten)
			}
			if len(writes.sent) != tc.writes || !strings.Contains(writes.sent[tc.writes-1], FinalizerName) {
				t.Errorf("%s, %s: sent %v", name, what, writes.sent)
			}
		}
	}
}

// TestTheFinalizerIsPutBackBesideAnUnwrittenResult verifies that the finalizer is restored while annotations are
// dropped.
func TestTheFinalizerIsPutBackBesideAnUnwrittenResult(t *testing.T) {
	held := `{"metadata":{"finalizers":["` + FinalizerName + `"],"resourceVersion":"7","uid":"uid-1"}}`
	drops := func(*liveCluster) error { return &notStoredError{[]string{"annotation a"}} }
	for name, tc := range map[string]struct {
		result string
		change func(*pass)
		puts   bool
	}{
		"it is gone": {attempt.Succeeded, nil, true},
		"another's is there": {attempt.Succeeded,
			func(p *pass) { p.mg.SetFinalizers([]string{"example.org/kept"}) }, true},
		"it is there": {attempt.Succeeded, func(p *pass) { p.mg.SetFinalizers([]string{FinalizerName}) },
			false},
		"nothing was created": {attempt.Failed, nil, false},
		"the object is let go": {attempt.Succeeded,
			func(p *pass) { p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon}) }, false},
		"the author has their own": {attempt.Succeeded, func(p *pass) { p.r.finalizer = resource.NewNopFinalizer() },
			false},
	} {
		p, writes := unwrittenPass(tc.result, tc.change, drops)
		if err := p.writeUnwritten(t.Context()); err == nil {
			t.Errorf("%s: what was dropped is taken for stored", name)
		}
		if got := len(writes.sent) == 2; got != tc.puts || len(writes.sent) < 1 {
			t.Errorf("%s: sent %v", name, writes.sent)
		}
		if tc.puts && name == "it is gone" && writes.sent[1] != held {
			t.Errorf("%s: sent %s, want %s", name, writes.sent[1], held)
		}
		if tc.puts && name == "another's is there" &&
			!strings.Contains(writes.sent[1], `["example.org/kept","`+FinalizerName+`"]`) {
			t.Errorf("%s: sent %s", name, writes.sent[1])
		}
	}
}

// TestAnUnwrittenResultIsLeft verifies that a creation with an unwritten result is reported as a leftover.
func TestAnUnwrittenResultIsLeft(t *testing.T) {
	unwritten := map[string]string{meta.AnnotationKeyExternalName: "vol-1", meta.AnnotationKeyCreateAttempt: ownDone}
	for name, tc := range map[string]struct {
		cold      objectstate.Cold
		named     string
		mentioned bool
	}{
		"made": {objectstate.Cold{Attempts: objectstate.Attempts{Unwritten: unwritten}}, "vol-1", true},
		"came to nothing": {objectstate.Cold{Attempts: objectstate.Attempts{
			Unwritten: map[string]string{meta.AnnotationKeyCreateAttempt: ownID + "/failed"},
		}}, "", false},
		"another was called for since": {objectstate.Cold{
			Attempts: objectstate.Attempts{Unwritten: unwritten, Called: objectstate.Intent{Attempt: "c"}},
		}, "", true},
	} {
		o := remembering(tc.cold)
		o.HadFinalizer = true
		named, _, anything := o.known()
		if named != tc.named || anything != tc.mentioned || (o.leftover() != "") != tc.mentioned {
			t.Errorf("%s: %q is known, %t, and left is %q", name, named, anything, o.leftover())
		}
	}
}

// TestAnUnwrittenResultOfADeletedObject verifies that an unwritten result sets the conditions Creating or Deleting.
func TestAnUnwrittenResultOfADeletedObject(t *testing.T) {
	for name, tc := range map[string]struct {
		stage   row
		deleted bool
		want    commonv1.Condition
	}{
		"in a later pass":         {recording, true, commonv1.Deleting()},
		"of one that is to stay":  {recording, false, commonv1.Creating()},
		"which cannot be read":    {rereading, true, commonv1.Deleting()},
		"or is ready, who knows":  {rereading, false, commonv1.Condition{}},
		"an intent is none":       {recordingIntent, true, commonv1.Creating()},
		"nor is an update of any": {updating, true, commonv1.Condition{}},
	} {
		mg := bearing(nil)
		if tc.deleted {
			mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}
		p := passOf(mg, &objectState{})
		p.r.telemetry = p.r.newTelemetry()
		if diff := cmp.Diff(tc.want, p.failureOutcome(tc.stage.failed(errors.New("boom"))).ready); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestTheQuestionOutlivesTheConditionThatAsksIt verifies that the condition Created keeps the question when another
// failure replaces it in Synced.
func TestTheQuestionOutlivesTheConditionThatAsksIt(t *testing.T) {
	about := commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionUnknown, Reason: commonv1.ReasonUnresolved,
		Message: objectstate.CreationRef{Mark: ownID}.String(), LastTransitionTime: metav1.NewTime(noon),
	}
	for name, tc := range map[string]struct {
		synced commonv1.Condition
		puts   bool
	}{
		"a call that does not return": {unsynced(commonv1.ReasonCallOverdue, "the call has not returned"), true},
		"a pause":                     {commonv1.ReconcilePaused(), true},
		"all is well since":           {commonv1.ReconcileSuccess(), false},
	} {
		mg := bearing(nil)
		mg.SetConditions(tc.synced, about)
		p := passOf(mg, &objectState{})
		p.restore()
		want := map[string]string(nil)
		if tc.puts {
			want = map[string]string{
				meta.AnnotationKeyCreateAttempt:         ownID,
				meta.AnnotationKeyExternalCreatePending: noon.Format("2006-01-02T15:04:05Z07:00"),
				meta.AnnotationKeyWasUnresolved:         notedTaken,
			}
		}
		if got := mg.GetAnnotations(); !maps.Equal(got, want) {
			t.Errorf("%s: the object bears %v, want %v", name, got, want)
		}
	}
}
