package managed

import (
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
)

// TestTheHandleIsPutBackWithTheRecord verifies that the operation handle is restored with the record, after a
// replace and after a restore of the API server, and not alone.
func TestTheHandleIsPutBackWithTheRecord(t *testing.T) {
	const operation = meta.AnnotationKeyOperation
	made := objectstate.Cold{Attempts: objectstate.Attempts{
		Made: objectstate.CreationRef{Mark: ownDone}, Operation: "op-2",
	}}
	attempted := objectstate.Cold{Attempts: objectstate.Attempts{
		Called: objectstate.Intent{Pending: early, Attempt: ownID}, Operation: "op-2",
	}}
	whole := map[string]string{
		meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalCreateSucceeded: later,
	}
	handled := maps.Clone(whole)
	handled[operation] = "op-3"
	named := []ReconcilerOption{WithDeterministicExternalName(true)}
	cases := map[string]struct {
		reason  string
		cold    objectstate.Cold
		options []ReconcilerOption
		marks   map[string]string
		want    string
	}{
		"Taken":   {"a replace has taken all", made, nil, nil, "op-2"},
		"Earlier": {"or has written that of another one", made, nil, map[string]string{operation: "op-1"}, "op-2"},
		"Alone":   {"a user has removed the handle", made, nil, whole, ""},
		"Later":   {"another process has begun another one", made, nil, handled, "op-3"},
		"Ended": {"there is none any more", objectstate.Cold{Attempts: objectstate.Attempts{Made: made.Made}}, nil,
			nil, ""},
		"Unknown": {"it is not of an attempt whose result is not known", attempted, nil, nil, ""},
		"Named":   {"a name of our choice is taken along", made, named, nil, "op-2"},
		"NamedAlone": {"a user has removed the handle, and left the name", made, named,
			map[string]string{meta.AnnotationKeyExternalName: "data"}, ""},
	}
	for id, tc := range cases {
		for how, restore := range map[string]func(*pass){
			"restore": (*pass).restore, "recall": func(p *pass) { p.recall() },
		} {
			p := passOf(bearing(tc.marks), remembering(tc.cold), tc.options...)
			restore(p)
			if got := p.mg.GetAnnotations()[operation]; got != tc.want {
				t.Errorf("%s: %s: after %s the handle is %q, want %q", id, tc.reason, how, got, tc.want)
			}
		}
	}
}

// TestWhatAReplaceTookIsPutBackAtOnce verifies that a replaced record is restored in one write of the result, with
// a warning.
func TestWhatAReplaceTookIsPutBackAtOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := newStored(bearing(map[string]string{meta.AnnotationKeyExternalName: "vol-9"}),
		remembering(objectstate.Attempts{
			Made: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}, Operation: "op-2",
		}), WithMetricsRegisterer(registry))
	if err := w.restoreReplaced(t.Context()); err != nil || len(w.writes.sent) != 1 {
		t.Errorf("error %v, sent %q", err, w.writes.sent)
	}
	marks := w.mg.GetAnnotations()
	if meta.GetExternalName(w.mg) != "vol-1" || marks[meta.AnnotationKeyCreateAttempt] != ownDone ||
		marks[meta.AnnotationKeyOperation] != "op-2" {
		t.Errorf("the object is marked %v", marks)
	}
	if got := sample(t, registry, "moorage_managed_writes_total", "what"); got["result"] != 1 {
		t.Errorf("counted are the writes %v", got)
	}
	if len(w.events) != 1 || w.events[0].Reason != reasonRecordTaken ||
		!strings.Contains(w.events[0].Message, `"vol-9"`) {
		t.Errorf("told %+v", w.events)
	}
}

// TestALookTakesNoCreationBack verifies that NotCreated without an operation does not revert a creation.
func TestALookTakesNoCreationBack(t *testing.T) {
	for handle, back := range map[string]bool{"": false, "op-1": true} {
		mg := bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone})
		setOperation(mg, handle)
		w := newStored(mg, remembering(objectstate.Resource{Creation: ownDone}))
		err := w.notObserved(t.Context(), handle, external.NotCreated(errors.New("boom")))
		_, result := attempt.Of(w.mg)
		if failed := result == attempt.Failed; failed != back || (w.state.Creation == "") != back ||
			stageOf(err) != observing {
			t.Errorf("with the handle %q it ended with %v, recorded as %q, remembered as %q", handle, err, result,
				w.state.Creation)
		}
	}
}

// TestTheHandleIsRememberedWhileItIsNeeded verifies that the handle is remembered as long as the object has it.
func TestTheHandleIsRememberedWhileItIsNeeded(t *testing.T) {
	for handle, keeps := range map[string]bool{"op-1": true, "": false} {
		mg := bearing(nil)
		setOperation(mg, handle)
		p := passOf(mg, &objectState{})
		p.close(t.Context())
		if kept := p.state.coldState != nil; kept != keeps || kept && p.state.Operation != handle {
			t.Errorf("%q: something is remembered: %t", handle, kept)
		}
	}
}
