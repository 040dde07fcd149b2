package managed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestWhyANameCannotBeStored verifies that an unstorable name is reported by its bytes before its length, and that
// the pass continues with the stored annotations.
func TestWhyANameCannotBeStored(t *testing.T) {
	const text = "the client answered with the external name %.128q, which %s: correct the provider's client; " +
		"until the name is stored, nothing is created, and nothing is called by another name"
	full := strings.Repeat("x", annotationsLimit-len("note")-len(meta.AnnotationKeyExternalName)-len("vol-1"))
	tooLong := func(size int) string {
		return fmt.Sprintf("does not fit into the annotations of the object (they would have %d bytes, and the API server "+
			"stores 262144 at most)", size)
	}
	for what, tc := range map[string]struct{ note, name, why string }{
		"It fits":                   {full, "vol-1", ""},
		"One byte more":             {full, "vol-12", tooLong(annotationsLimit + 1)},
		"No UTF-8":                  {"", "vol-\xff", "is no valid UTF-8"},
		"No UTF-8, and far too big": {full, "volume-\xff", "is no valid UTF-8"},
		"No name, and far too big":  {full + full, "", ""},
	} {
		p := passOf(bearing(map[string]string{"unstored": "x"}), &objectState{})
		p.newest = bearing(map[string]string{"note": tc.note})
		err := p.checkName(map[string]any{meta.AnnotationKeyExternalName: tc.name})
		if tc.why == "" {
			if err != nil || p.mg.GetAnnotations()["unstored"] != "x" {
				t.Errorf("%s: error %.200v, annotations %.200v", what, err, p.mg.GetAnnotations())
			}

			continue
		}
		if err == nil || err.Error() != fmt.Sprintf(text, tc.name, tc.why) {
			t.Errorf("%s: told %.400v", what, err)
		}
		meta.AddAnnotations(p.mg, map[string]string{"later": "x"})
		if now := p.mg.GetAnnotations(); now["note"] != tc.note || now["unstored"] != "" ||
			p.newest.GetAnnotations()["later"] != "" {
			t.Errorf("%s: the pass goes on with %.200v", what, now)
		}
	}
}

// TestOnlyWhatWasSentIsTakenBack verifies that only the changes that were sent with an altered name are reverted.
func TestOnlyWhatWasSentIsTakenBack(t *testing.T) {
	mg := bearing(map[string]string{meta.AnnotationKeyExternalName: "x-vol-1", "of-another": "new"})
	w := newStored(mg, &objectState{})
	w.misnamed(t.Context(), map[string]string{"of-another": "old", "removed": "x"},
		map[string]any{meta.AnnotationKeyExternalName: "vol-1"})
	if len(w.writes.sent) != 1 || !strings.Contains(w.writes.sent[0],
		`"annotations":{"`+meta.AnnotationKeyExternalName+`":null}`) {
		t.Errorf("sent %v", w.writes.sent)
	}
}

// TestWhatIsNotStoredOfConditions verifies that earlier conditions do not count for what is stored of the new ones,
// and that a field missing from all is lost.
func TestWhatIsNotStoredOfConditions(t *testing.T) {
	said := commonv1.ReconcileSuccess().WithMessage("m")
	part := func(change func(*commonv1.Condition)) commonv1.Condition { c := said; change(&c); return c }
	for what, tc := range map[string]struct {
		stored []commonv1.Condition
		want   string
	}{
		"All": {[]commonv1.Condition{said}, ""},
		"No status": {[]commonv1.Condition{part(func(c *commonv1.Condition) { c.Status = "" })},
			"status.conditions[].status"},
		"No reason": {[]commonv1.Condition{part(func(c *commonv1.Condition) { c.Reason = "" })},
			"status.conditions[].reason"},
		"One from before": {[]commonv1.Condition{commonv1.ReconcileSuccess(),
			commonv1.Available().WithMessage("m")}, "status.conditions[].message"},
		"Neither of these": {[]commonv1.Condition{part(func(c *commonv1.Condition) { c.Reason, c.Message = "", "" })},
			"status.conditions[].reason status.conditions[].message"},
	} {
		says, stored := commonv1.ConditionedStatus{Conditions: []commonv1.Condition{said}},
			commonv1.ConditionedStatus{Conditions: tc.stored}
		if got := strings.Join(lostFields(&says, &stored), " "); got != tc.want {
			t.Errorf("%s: lost %q, want %q", what, got, tc.want)
		}
	}
	silent := commonv1.ConditionedStatus{Conditions: []commonv1.Condition{part(func(
		c *commonv1.Condition) {
		c.Status = ""
	})}}
	if got := lostFields(&silent, &silent); len(got) != 0 {
		t.Errorf("of a condition that says no status, lost %q", got)
	}
}

// TestWhatIsNamedInSentences verifies that messages about leftovers name them, and end without a name where there
// is none.
func TestWhatIsNamedInSentences(t *testing.T) {
	p := passOf(marked(early, "", "", ownID), &objectState{})
	p.mg.SetUID(ownerUID)
	if got := p.unresolvedInBackend(); got != ", where the result of an attempt to create it is not known: "+ownID {
		t.Errorf("an attempt: %q", got)
	}
	p = passOf(marked(early, "", "", ""), &objectState{})
	if got := p.unresolvedInBackend(); got != ", where the result of an attempt to create it is not known" {
		t.Errorf("an attempt of another runtime: %q", got)
	}
	meta.SetExternalName(p.mg, "vol-1")
	if got := p.ownerChangedText(); got != `the external resource "vol-1" was created or adopted for the object, `+
		`and by its stamp it is not the object's any more: `+
		"it is left as it is; delete it there, if nothing else manages it" {
		t.Errorf("another owner: %q", got)
	}
}

// TestAPanickingHookIsReportedOnce verifies that a panic of the poll interval hook is reported once until it works
// again, and that the default is used.
func TestAPanickingHookIsReportedOnce(t *testing.T) {
	panics := true
	p := passOf(bearing(nil), &objectState{}, WithPollIntervalHook(func(resource.Managed, time.Duration) time.Duration {
		if panics {
			panic("boom")
		}

		return time.Hour
	}))
	recorder := &objectRecorder{}
	p.r.recorder = recorder
	for range 2 {
		if d := p.hook(time.Minute); d != time.Minute {
			t.Errorf("the delay is %v", d)
		}
	}
	if len(recorder.what) != 1 || recorder.what[0].Type != event.TypeWarning ||
		recorder.what[0].Reason != "InvalidPollInterval" ||
		!strings.HasPrefix(recorder.what[0].Message, "poll interval hook: ") {
		t.Errorf("told %+v", recorder.what)
	}
	panics = false
	if d := p.hook(time.Minute); d != time.Hour || p.state.LastBadInterval != "" {
		t.Errorf("the delay is %v, and %q is remembered", d, p.state.LastBadInterval)
	}
	panics = true
	if p.hook(time.Minute); len(recorder.what) != 2 {
		t.Errorf("told %+v", recorder.what)
	}
}

// TestHowFarAnErrorIsFollowed verifies that the innermost error names a failure, as far as it can be unwrapped.
func TestHowFarAnErrorIsFollowed(t *testing.T) {
	err := error(numberedError{})
	for n := 1; n <= 40; n++ {
		err = numberedError{n, err}
	}
	var got numberedError
	if !errors.As(innermost(err), &got) || got.number != 24 {
		t.Errorf("the innermost is %v", got.number)
	}
}

// A numberedError wraps another.
type numberedError struct {
	number int
	of     error
}

func (e numberedError) Error() string { return "boom" }
func (e numberedError) Unwrap() error { return e.of }

// TestWhatBearsNoNumber verifies that a mark without a number precedes all others.
func TestWhatBearsNoNumber(t *testing.T) {
	for mark, want := range map[string]int64{
		"": -1, "by hand": -1, "00000000": 0, "0000000a1-x": 10, "1970-01-01T00:00:07Z": 7,
	} {
		if got := attempt.Number(mark); got != want {
			t.Errorf("%q: %d, want %d", mark, got, want)
		}
	}
}

// TestNothingIsMissedOfWhatWasWrittenOver verifies that nothing counts as missing from a status that was written
// without a precondition.
func TestNothingIsMissedOfWhatWasWrittenOver(t *testing.T) {
	p := passOf(bearing(nil), remembering())
	newest, desired := objectjson.Status{Fields: map[string]any{}}, objectjson.Status{Fields: map[string]any{"a": "x"}}
	if _, rest := p.unstoredStatus(newest, desired, bearing(nil), ""); rest != nil {
		t.Errorf("missing is %v", rest)
	}
}

// TestTheUIDOfACluster verifies that a cluster is identified by the UID of kube-system, and that an error names the
// cause.
func TestTheUIDOfACluster(t *testing.T) {
	if uid, err := ClusterUID(t.Context(), namespaces{}); err != nil || uid != "uid-of-kube-system" {
		t.Errorf("uid %q, error %v", uid, err)
	}
	boom := errors.New("boom")
	uid, err := ClusterUID(t.Context(), namespaces{err: boom})
	if uid != "" || !errors.Is(err, boom) ||
		err.Error() != "cannot read namespace kube-system, whose uid identifies the cluster: boom" {
		t.Errorf("uid %q, error %v", uid, err)
	}
}

// Namespaces are those of a cluster, each with a uid of its name.
type namespaces struct {
	client.Reader

	err error
}

func (n namespaces) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.(*corev1.Namespace).UID = types.UID("uid-of-" + key.Name)

	return n.err
}
