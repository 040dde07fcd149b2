package managed

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// What was created in the former system and never observed may be left over there. It is told once, by its attempt
// and its name as far as they are known, and the change of the system is stored at once.
func TestWhatMayBeLeftInTheFormerSystem(t *testing.T) {
	const name, attempt, pending, succeeded = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded
	made := map[string]string{attempt: ownDone, name: "vol-1"}
	seen := objectstate.State{Seen: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}}
	byName := func(p *pass) { p.r.named = true }
	cases := map[string]struct {
		reason string
		marks  map[string]string
		memory objectstate.State
		change func(*pass)
		told   string // in brackets; "": nothing
	}{
		"Nothing":  {"nothing was created", map[string]string{name: "vol-1"}, objectstate.State{}, nil, ""},
		"Failed":   {"the attempt came to nothing", map[string]string{attempt: ownID + "/failed"}, objectstate.State{}, nil, ""},
		"Made":     {"it was never found", made, objectstate.State{}, nil, "the attempt to create it was " + ownID + `, its external name is "vol-1"`},
		"Seen":     {"it was found", made, seen, nil, ""},
		"Unknown":  {"the result of the attempt is not known", map[string]string{attempt: ownID, pending: early}, objectstate.State{}, nil, "the attempt to create it was " + ownID},
		"Theirs":   {"another runtime records times alone", map[string]string{succeeded: early, name: "vol-1"}, objectstate.State{}, nil, `the attempt to create it has no id, its external name is "vol-1"`},
		"Named":    {"a name of our choice has no record", map[string]string{name: "data"}, objectstate.State{}, byName, `the attempt to create it has no id, its external name is "data"`},
		"NamedAnd": {"it was found under that", map[string]string{name: "data"}, objectstate.State{Seen: objectstate.CreationRef{Name: "data"}}, byName, ""},
		"Ready": {"an earlier process has found it", map[string]string{name: "data"}, objectstate.State{}, func(p *pass) {
			byName(p)
			p.read.SetConditions(commonv1.Available())
		}, ""},
		"Unheld": {"nothing is created for what is not kept", map[string]string{name: "data"}, objectstate.State{}, func(p *pass) {
			byName(p)
			p.mg.SetFinalizers(nil)
		}, ""},
	}
	for id, tc := range cases {
		mg := bearing(tc.marks)
		mg.SetFinalizers([]string{FinalizerName})
		p := passOf(mg, remembering(tc.memory, objectstate.Cold{}))
		p.read = clone(mg)
		if tc.change != nil {
			tc.change(p)
		}
		p.tellLeftIn("blue")
		if got := len(p.events) > 0; got != (tc.told != "") || len(p.events) > 1 || p.restored != got {
			t.Errorf("%s: %s: told %+v, to be stored is %t", id, tc.reason, p.events, p.restored)
		}
		first := p.events
		p.memo.LastWarnings = map[string]string{}
		for _, e := range first {
			p.memo.LastWarnings[string(e.Reason)] = e.Message
		}
		if p.tellLeftIn("blue"); len(p.events) != len(first) {
			t.Errorf("%s: told again: %+v", id, p.events)
		}
		for _, e := range first {
			if e.Reason != "ExternalResourceLeft" || !strings.Contains(e.Message, `"blue"`) || !strings.Contains(e.Message, "("+tc.told+")") {
				t.Errorf("%s: %s: told %+v", id, tc.reason, e)
			}
		}
	}
}

// The finalizer may be taken before this process has seen the object. That is told where the object says that its
// resource was to go with it, and had not gone yet: what lets an object go takes the other finalizer as well.
func TestAFinalizerThatWasTakenBeforeThisProcess(t *testing.T) {
	deleting := func(synced commonv1.Condition) []commonv1.Condition {
		return []commonv1.Condition{commonv1.Deleting(), synced}
	}
	done := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}
	failed, waited := commonv1.ReconcileError(errors.New("boom")), commonv1.ReconcileSuccess().WithMessage(textAwaiting+"example.org/backup")
	others := []string{"example.org/backup"}
	orphaned := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan}
	cases := map[string]struct {
		reason     string
		finalizers []string
		marks      map[string]string
		says       []commonv1.Condition
		change     func(*pass)
		want       bool
	}{
		"Failed":          {"its last pass failed", others, nil, deleting(failed), nil, true},
		"Waited":          {"its last pass waited for others", others, nil, deleting(waited), nil, true},
		"Ended":           {"the last pass may have let it go", others, nil, deleting(commonv1.ReconcileSuccess()), nil, false},
		"Before":          {"no pass has seen its deletion", others, nil, []commonv1.Condition{commonv1.Available(), failed}, nil, false},
		"Alone":           {"nobody keeps it", nil, nil, deleting(failed), nil, false},
		"Unclaimed":       {"the other finalizer is there, and something was created", []string{UnclaimedFinalizer}, done, nil, nil, true},
		"Nothing":         {"it is, and nothing was created", []string{UnclaimedFinalizer}, nil, nil, nil, false},
		"UnclaimedKept":   {"it is, and this process has seen the finalizer", []string{UnclaimedFinalizer}, done, nil, func(p *pass) { p.memo.Kept = true }, false},
		"UnclaimedOrphan": {"it is, and the resource is to stay", []string{UnclaimedFinalizer}, orphaned, nil, nil, false},
		"Named": {"a name of our choice has no record, but it was there", []string{UnclaimedFinalizer}, nil, []commonv1.Condition{commonv1.Available()},
			func(p *pass) { p.r.named = true }, true},
		"NamedDeleting": {"it was being deleted", []string{UnclaimedFinalizer}, nil, deleting(failed), func(p *pass) { p.r.named = true }, true},
		"NamedUnknown":  {"nobody has said that it was there", []string{UnclaimedFinalizer}, nil, []commonv1.Condition{commonv1.Creating()}, func(p *pass) { p.r.named = true }, false},
		"Kept":          {"this process has seen the finalizer", others, nil, deleting(failed), func(p *pass) { p.memo.Kept = true }, false},
		"Author's":      {"an author's finalizer cannot be told by its name", others, nil, deleting(failed), func(p *pass) { p.r.finalizer = &authorsFinalizer{} }, false},
		"Orphan":        {"the resource is to stay", others, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan}, deleting(failed), nil, false},
	}
	for id, tc := range cases {
		mg := bearing(tc.marks)
		mg.SetFinalizers(tc.finalizers)
		mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		mg.SetConditions(tc.says...)
		p := passOf(mg, &memo{})
		if tc.change != nil {
			tc.change(p)
		}
		if got := p.takenBefore(); got != tc.want {
			t.Errorf("%s: %s: got %t", id, tc.reason, got)
		}
	}
}

// A process whose lease is over may end a pass that has nothing to tell.
func TestNothingToTellNeedsNoLease(t *testing.T) {
	p, c, _ := newWriting(stores, WithLeaseDeadline(func() time.Time { return noon.Add(-time.Second) }))
	p.mg = clone(p.read)
	if err := p.writeStatus(t.Context()); err != nil || len(c.sent) > 0 {
		t.Errorf("it ended with %v after %d writes", err, len(c.sent))
	}
}

// What an author's updater was answered is what the next write of the pass is for.
func TestWhatAnAuthorsUpdaterWasAnsweredIsKnown(t *testing.T) {
	changes := map[string]any{meta.AnnotationKeyCreateAttempt: ownDone}
	w := newStored(bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}), &memo{}, WithCriticalAnnotationUpdater(
		CriticalAnnotationUpdateFn(func(_ context.Context, o client.Object) error {
			o.SetResourceVersion("9")
			meta.AddAnnotations(o, map[string]string{"example.org/note": "of another"})

			return nil
		})))
	if err := w.recordByAuthor(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if w.mg.GetResourceVersion() != "9" || w.newest.GetResourceVersion() != "9" || w.mg.GetAnnotations()["example.org/note"] == "" {
		t.Errorf("known are the versions %s and %s, marked %v", w.mg.GetResourceVersion(), w.newest.GetResourceVersion(), w.mg.GetAnnotations())
	}
}

// Where no key can be derived, nothing is stored that could be taken for what was published.
func TestWhatCannotBeDerivedIsNotStored(t *testing.T) {
	for key, want := range map[string]string{"0badcafe": "quay/login/0badcafe", "": ""} {
		if got := storedAs("quay/login", key); got != want {
			t.Errorf("with the key %q: stored as %q, want %q", key, got, want)
		}
	}
}

// A pass counts as under way before it asks whether the API server was restored: what is written back after that
// waits for those that were not told so.
func TestAPassIsUnderWayBeforeItAsksForRestores(t *testing.T) {
	d := controller.NewRestoreDetector()
	r := madeWith(WithRestoreDetector(d))
	d.Seen(schema.GroupKind{}, "874", "219")
	of := types.NamespacedName{Name: "data"}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: of}); err != nil || r.passes.of == nil || r.passes.has(of) {
		t.Errorf("it ended with %v; passes under way: %v", err, r.passes.of)
	}
}
