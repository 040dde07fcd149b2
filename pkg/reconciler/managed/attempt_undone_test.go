package managed

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestARefusedReferenceIsReportedFirst verifies that a refused reference is reported before one that is waited for:
// only a change of either object resolves it.
func TestARefusedReferenceIsReportedFirst(t *testing.T) {
	waiting, refused := &reference.WaitingError{}, &reference.RefusedError{}
	for name, tc := range map[string]struct {
		err  error
		want commonv1.ConditionReason
	}{
		"refused":                   {refused, commonv1.ReasonReferenceRefused},
		"waiting":                   {waiting, commonv1.ReasonReferenceNotReady},
		"one waits, one is refused": {errors.Errorf("%w, and %w", waiting, refused), commonv1.ReasonReferenceRefused},
		"neither":                   {errors.New("boom"), ""},
	} {
		if reason, _ := external.TerminalReason(settle(tc.err)); reason != string(tc.want) {
			t.Errorf("%s: the reason is %q, want %q", name, reason, tc.want)
		}
	}
}

// TestWhatIsUndone verifies that only the result of a successful creation is reverted along with its external name.
func TestWhatIsUndone(t *testing.T) {
	const name, succeeded, attempt = meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyCreateAttempt
	for what, tc := range map[string]struct {
		key  string
		sent map[string]any
		want bool
	}{
		"the name": {name, map[string]any{name: "vol-1"}, true},
		"its result": {attempt, map[string]any{name: "vol-1", succeeded: later, attempt: ownDone},
			true},
		"the time of its result": {succeeded,
			map[string]any{name: "vol-1", succeeded: later, attempt: ownDone}, true},
		"a failure": {attempt, map[string]any{
			name: "vol-1", succeeded: later, attempt: ownID + "/failed",
		}, false},
		"a result of before": {attempt, map[string]any{name: "vol-1", attempt: ownDone}, false},
		"what was not sent":  {succeeded, map[string]any{name: "vol-1"}, false},
		"another's beside a new result": {"example.org/a",
			map[string]any{name: "vol-1", succeeded: later, attempt: ownDone}, false},
	} {
		if got := undone(tc.key, tc.sent); got != tc.want {
			t.Errorf("%s: undone is %t", what, got)
		}
	}
}

// TestANameThatWasChangedBeforeIsTakenBack verifies that an altered external name is reverted also if an earlier
// write has left it.
func TestANameThatWasChangedBeforeIsTakenBack(t *testing.T) {
	for name, before := range map[string]map[string]string{
		"it was left there":  {meta.AnnotationKeyExternalName: "x-vol-1"},
		"it was not":         nil,
		"the last one stays": {meta.AnnotationKeyExternalName: "x-vol-0"},
	} {
		mg := marked(early, "", "", ownID)
		meta.SetExternalName(mg, "x-vol-1")
		w := newStored(mg, remembering(objectstate.Attempts{Altered: "x-vol-0"}))
		w.misnamed(t.Context(), before, map[string]any{meta.AnnotationKeyExternalName: "vol-1"})
		if len(w.writes.sent) != 1 || !strings.Contains(w.writes.sent[0], `"`+meta.AnnotationKeyExternalName+`":null`) {
			t.Errorf("%s: sent %v", name, w.writes.sent)
		}
	}
}

// TestNothingIsRememberedOfAnotherAttempt verifies that an unwritten result is forgotten once it is stored, or
// another attempt was made.
func TestNothingIsRememberedOfAnotherAttempt(t *testing.T) {
	p, writes := unwrittenPass(attempt.Succeeded, func(p *pass) { p.state.Altered = "x-vol-1" })
	p.r.cluster.(*liveCluster).shows.SetAnnotations(marked(later, "", "", "b").GetAnnotations())
	if err := p.writeUnwritten(t.Context()); err != nil || p.state.Unwritten != nil || p.state.Altered != "" ||
		len(writes.sent) > 0 {
		t.Errorf("error %v, remembered %v and %q, sent %v", err, p.state.Unwritten, p.state.Altered, writes.sent)
	}
}

// TestWhatIsChangedOfASecret verifies that a Secret is patched if only its data, its stamp or its controller
// differ.
func TestWhatIsChangedOfASecret(t *testing.T) {
	desired := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Annotations:     map[string]string{StampKey: "s"},
			OwnerReferences: []metav1.OwnerReference{{UID: ownerUID, Controller: new(true)}},
		},
		Data: map[string][]byte{"password": []byte("correct-horse")},
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Secret)
		sent   string
	}{
		"nothing differs": {func(*corev1.Secret) {}, ""},
		"its data":        {func(s *corev1.Secret) { s.Data = nil }, `"data":{"password":`},
		"its stamp":       {func(s *corev1.Secret) { s.Annotations = nil }, `"annotations":{"` + StampKey + `":"s"}`},
		"its controller":  {func(s *corev1.Secret) { s.OwnerReferences = nil }, `"ownerReferences":[{`},
	} {
		current, writes := desired.DeepCopy(), &patchingClient{answer: func() error { return nil }}
		tc.change(current)
		changed, err := secrets{client: writes, stamp: "s"}.change(t.Context(), current, desired)
		if sent := strings.Join(writes.sent, "; "); err != nil || changed != (tc.sent != "") ||
			!strings.Contains(sent, tc.sent) || (sent == "") == changed {
			t.Errorf("%s: changed %t, error %v, sent %s", name, changed, err, sent)
		}
	}
}

// TestTheContextOfARetainedObjectEnds verifies that the context of the retain check of an undone create is
// canceled.
func TestTheContextOfARetainedObjectEnds(t *testing.T) {
	for name, reader := range map[string]*contextReader{
		"it is spared":    {aboveReader: aboveReader{going: true}},
		"nobody can tell": {aboveReader: aboveReader{err: errors.New("boom")}},
	} {
		p := endingPass(WithDeletionGuard())
		p.mg.SetNamespace("apps")
		kind := schema.GroupVersionKind{Group: "g", Version: "v", Kind: "K"}
		known := apimeta.NewDefaultRESTMapper(nil)
		known.Add(kind, apimeta.RESTScopeNamespace)
		p.r.of, reader.mapper = resource.ManagedKind(kind), known
		p.created, p.external, p.r.client, p.r.cluster = true, &removal{}, reader, reader
		p.undoCreate(t.Context())
		if reader.context == nil || reader.context.Err() == nil {
			t.Errorf("%s: the context of the question goes on: %v", name, reader.context)
		}
	}
}

// A contextReader notes the context of a read.
type contextReader struct {
	aboveReader

	context context.Context //nolint:containedctx // it is what is tested
}

func (c *contextReader) GetAPIReader() client.Reader { return c }

func (c *contextReader) Get(ctx context.Context, key client.ObjectKey, o client.Object,
	options ...client.GetOption) error {
	c.context = ctx

	return c.aboveReader.Get(ctx, key, o, options...)
}

// TestNothingIsCalledUnderAnUnknownLease verifies that nothing is called if the remaining lease is unknown, also if
// it was known a moment before.
func TestNothingIsCalledUnderAnUnknownLease(t *testing.T) {
	for call, tc := range map[string]struct {
		do    func(fencedClient) error
		times int // that the lease is asked for
	}{
		"Update": {func(f fencedClient) error { return f.Update(t.Context(), bearing(nil)) }, 2},
		"Delete": {func(f fencedClient) error { return f.Delete(t.Context(), bearing(nil)) }, 2},
		"Create": {func(f fencedClient) error {
			return timeoutClient{f.ExternalClient, time.Time{}, f.pass}.Create(t.Context(), bearing(nil))
		}, 1},
	} {
		for known := range 3 {
			asked := 0
			p := passOf(bearing(nil), &objectState{}, WithLeaseDeadline(func() time.Time {
				if asked++; asked > known {
					panic("a defect")
				}

				return noon.Add(time.Hour)
			}))
			p.r.telemetry = p.r.newTelemetry()
			f := fencedClient{&sought{}, p}
			if err := tc.do(f); (known < tc.times) != errors.Is(err, errFenced) {
				t.Errorf("%s: known %d times: error %v", call, known, err)
			}
		}
	}
	p := passOf(bearing(nil), &objectState{})
	if ctx, _, err := p.underLease(t.Context()); ctx != t.Context() || err != nil {
		t.Errorf("without a lease, the context is another, or there is error %v", err)
	}
}

// TestTheCopyIsSlimmed verifies that the cache transform changes a copy: the cached object may be read
// concurrently.
func TestTheCopyIsSlimmed(t *testing.T) {
	in := &renamed{}
	in.Namespace = "apps"
	if out, err := slim(in, &labelSets{}); err != nil || in.times != 0 || out == any(in) {
		t.Errorf("the object got a namespace %d times, error %v", in.times, err)
	}
}

// A renamed object notes how often it is given a namespace. Its copy does not.
type renamed struct {
	metav1.PartialObjectMetadata

	times int
}

func (r *renamed) SetNamespace(namespace string) {
	r.times++
	r.PartialObjectMetadata.SetNamespace(namespace)
}

// TestWhatIsMissedOfAStatus verifies that a status that was not stored at all is missed as a whole, with the times
// of conditions.
func TestWhatIsMissedOfAStatus(t *testing.T) {
	condition := func(at time.Time) commonv1.Condition {
		return commonv1.Condition{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(at)}
	}
	for version, want := range map[string]int{"7": 2, "8": 1} {
		mg := bearing(nil)
		mg.SetResourceVersion("7")
		mg.SetConditions(condition(noon))
		p := passOf(mg, &objectState{})
		newest, err := objectjson.StatusOf(mg)
		if err != nil {
			t.Fatal(err)
		}
		answer := clone(mg)
		answer.SetResourceVersion(version)
		desired := objectjson.Status{
			Fields:     map[string]any{"size": int64(5)},
			Conditions: []commonv1.Condition{condition(noon.Add(time.Minute))},
		}
		if _, rest := p.unstoredStatus(newest, desired, answer, "7"); len(rest) != want {
			t.Errorf("version %s: missed %v, want %d fields", version, cmp.Diff(map[string]any{}, rest), want)
		}
	}
}

// TestTheSizeOfAnnotationsThatChange verifies that annotations are measured as stored, with the changes of the
// record.
func TestTheSizeOfAnnotationsThatChange(t *testing.T) {
	const name, attempt = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt
	for what, tc := range map[string]struct {
		annotations map[string]string
		changes     map[string]any
		want        int
	}{
		"nothing changes":         {map[string]string{name: "vol-1", "a": "b"}, nil, len(name) + 5 + 2},
		"the name becomes longer": {map[string]string{name: "vol-1"}, map[string]any{name: "volume-1"}, len(name) + 8},
		"the name goes":           {map[string]string{name: "vol-1"}, map[string]any{name: nil}, len(name)},
		"an attempt is added": {map[string]string{name: "vol-1"}, map[string]any{attempt: "x"},
			len(name) + 5 + len(attempt) + 1},
		"one of a client, changed": {map[string]string{"a": "b"}, map[string]any{"a": "bbb"}, 2},
		"one of a client, added":   {nil, map[string]any{"a": "bbb"}, 0},
	} {
		if got := sizeWith(tc.annotations, tc.changes); got != tc.want {
			t.Errorf("%s: the size is %d, want %d", what, got, tc.want)
		}
	}
}

// TestNoVolatileFieldIsWaitedForWhereNoneIs verifies that an unstored change is delayed as a volatile one only if
// there are volatile fields.
func TestNoVolatileFieldIsWaitedForWhereNoneIs(t *testing.T) {
	for field, noted := range map[string]bool{"size": false, "usedBytes": true} {
		p := passOf(bearing(nil), remembering(), WithVolatileStatus("usedBytes"))
		patch := map[string]any{field: int64(5)}
		p.recordPruned(objectjson.Status{}, map[string]any{"size": int64(5)})
		if worth := p.worthWriting(objectjson.Status{}, patch); worth || p.state.VolatileWritten.IsZero() == noted {
			t.Errorf("%s: worth writing %t, noted at %s", field, worth, p.state.VolatileWritten)
		}
	}
}
