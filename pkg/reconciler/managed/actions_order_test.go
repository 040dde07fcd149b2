package managed

import (
	"context"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A sought is a client that is asked what an attempt led to.
type sought struct {
	keptContext

	shows ExternalObservation
	asked int
}

func (c *sought) RecoverCreation(context.Context, resource.Managed, string) (bool, error) {
	c.asked++

	return false, nil
}

func (c *sought) RecoveryWindow() time.Duration { return time.Hour }

func (c *sought) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	_, err := c.keptContext.Observe(ctx, mg)

	return c.shows, err
}

// A storedWorld is an API server that a pass in memory writes to and reads from.
type storedWorld struct {
	*pass
	*liveCluster

	writes *patchingClient
	client *sought
}

func newStored(mg resource.Managed, o *objectState, options ...ReconcilerOption) *storedWorld {
	mg.SetResourceVersion("7")
	w := &storedWorld{
		pass: passOf(mg, o, options...), liveCluster: &liveCluster{shows: clone(mg)},
		writes: &patchingClient{answer: func() error { return nil }, stores: true},
		client: &sought{shows: ExternalObservation{ResourceExists: true, ResourceUpToDate: true}},
	}
	w.read, w.newest = clone(mg), clone(mg)
	w.pass.external = w.client
	w.r.client, w.r.cluster, w.r.empty = w.writes, w.liveCluster, reflect.TypeFor[fake.Managed]()
	w.r.of.Group, w.r.of.Kind = "g", "K"
	w.r.telemetry = w.r.newTelemetry()

	return w
}

// TestWhatComesBeforeAnObservation verifies that the checks before the first external call run in order, and the
// restored record is stored; the first failure counts.
func TestWhatComesBeforeAnObservation(t *testing.T) {
	boom := errors.New("boom")
	stopped := func(o *objectstate.Cold) {
		o.Stop = objectstate.Stop{Version: "7", Revision: "r", Due: noon, Until: noon.Add(time.Second)}
	}
	unwritten := func(o *objectstate.Cold) { o.Unwritten = map[string]string{meta.AnnotationKeyCreateAttempt: ownDone} }
	cases := map[string]struct {
		reason string
		memory []func(*objectstate.Cold)
		change func(*storedWorld)
		stage  row
		err    error
		live   int // reads
		writes int
		looked int // lookups and observations
	}{
		"Prepared": {"without its references it is not connected", nil, func(w *storedWorld) {
			w.r.initializers = []Initializer{InitializerFn(func(context.Context,
				resource.Managed) error {
				return boom
			})}
			w.pass.external, w.r.connecter = nil, NewNopDisconnecter(ExternalConnectorFn(func(context.Context,
				resource.Managed) (ExternalClient, error) {
				return nil, errors.New("too early")
			}))
		}, initializing, boom, 0, 0, 0},
		"Connected": {"only a client knows what is secret in a text that is to be stored",
			[]func(*objectstate.Cold){unwritten}, func(w *storedWorld) {
				w.liveCluster.shows = nil
				w.pass.external, w.r.connecter = nil, NewNopDisconnecter(ExternalConnectorFn(func(context.Context,
					resource.Managed) (ExternalClient, error) {
					return nil, boom
				}))
			}, connecting, boom, 0, 0, 0},
		"Written": {"what a creation led to is stored before anything else", []func(*objectstate.Cold){unwritten},
			func(w *storedWorld) {
				w.liveCluster.shows, w.restored = nil, true
			}, rereading, errReplaced, 1, 0, 0},
		"Restored": {"what was put back is stored, whether something is asked or not",
			[]func(*objectstate.Cold){stopped}, func(w *storedWorld) {
				w.restored = true
				meta.AddAnnotations(w.mg, map[string]string{meta.AnnotationKeyRestored: "uid-1"})
			}, 0, errCauseUnchanged, 0, 1, 0},
		"Unchanged": {"nothing is asked while nothing has changed", []func(*objectstate.Cold){stopped},
			func(w *storedWorld) {
				meta.AddAnnotations(w.mg, map[string]string{
					meta.AnnotationKeyCreateAttempt:         foreignID,
					meta.AnnotationKeyExternalCreatePending: early,
				})
			}, 0, errCauseUnchanged, 0, 0, 0},
		"Looked": {"then it is looked at", nil, func(*storedWorld) {}, 0, nil, 0, 0, 1},
		"Sought": {"what an attempt led to is looked up before", nil, func(w *storedWorld) {
			w.recoverer = w.client
			meta.AddAnnotations(w.mg, map[string]string{
				meta.AnnotationKeyCreateAttempt:         ownID,
				meta.AnnotationKeyExternalCreatePending: early,
			})
		}, 0, nil, 0, 0, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cold := objectstate.Cold{}
			for _, remember := range tc.memory {
				remember(&cold)
			}
			w := newStored(bearing(nil), remembering(cold))
			w.connection.Revision = "r"
			tc.change(w)
			err := w.pass.observe(t.Context())
			if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) || stageOf(err) != tc.stage {
				t.Errorf("%s: it ended with %v", tc.reason, err)
			}
			if looked := w.client.asked + len(w.client.called); w.liveCluster.asked != tc.live ||
				len(w.writes.sent) != tc.writes || looked != tc.looked {
				t.Errorf("%s: %d reads, writes %q, %d looks", tc.reason, w.liveCluster.asked, w.writes.sent, looked)
			}
		})
	}
}

// TestWhatAnObservationKeeps verifies that an observation of a resource is remembered, and ends the grace periods.
func TestWhatAnObservationKeeps(t *testing.T) {
	called := objectstate.Intent{Pending: early, Attempt: ownID}
	doubted := objectstate.Cold{
		Deletion: objectstate.Deletion{NotFoundSince: noon, NotFoundName: "vol-1"},
		Attempts: objectstate.Attempts{Unfound: 3, Called: called,
			Made: objectstate.CreationRef{Mark: ownDone}},
	}
	made := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalName: "vol-1"}
	pending := map[string]string{meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early}
	cases := map[string]struct {
		reason string
		marks  map[string]string
		shows  ExternalObservation
		seen   objectstate.CreationRef
		found  bool
		cold   objectstate.Cold // of what was doubted
	}{
		"Ours": {"it is there", made, ExternalObservation{ResourceExists: true},
			objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}, true, objectstate.Cold{}},
		"Unknown": {"and nobody knows which attempt made it", pending, ExternalObservation{ResourceExists: true},
			objectstate.CreationRef{}, true,
			objectstate.Cold{Attempts: objectstate.Attempts{Called: called, Made: doubted.Made}}},
		"Missing": {"it is not", made, ExternalObservation{}, objectstate.CreationRef{}, false, doubted},
		"Stranger's": {"it is somebody else's", nil, ExternalObservation{ResourceExists: true, Owner: OwnerOther},
			objectstate.CreationRef{}, false,
			objectstate.Cold{Attempts: objectstate.Attempts{Called: called, Made: doubted.Made}}},
	}
	for name, tc := range cases {
		w := newStored(bearing(tc.marks), remembering(doubted))
		tc.shows.ConnectionDetails = ConnectionDetails{"password": []byte("swordfish-42")}
		w.client.shows = tc.shows
		if err := w.pass.observe(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !w.observed || !w.observedOnce || w.seenOwned != tc.found || w.state.Seen != tc.seen {
			t.Errorf("%s: %s: observed %t, looked %t, found %t, seen %+v", name, tc.reason, w.observed,
				w.observedOnce, w.seenOwned, w.state.Seen)
		}
		if diff := cmp.Diff(tc.cold, w.state.Cold); diff != "" {
			t.Errorf("%s: %s: remembered, -want +got:\n%s", name, tc.reason, diff)
		}
		if len(w.observedDetails) != 1 {
			t.Errorf("%s: one detail, and %d sets of them are told", name, len(w.observedDetails))
		}
	}
	w := newStored(&lateManaged{Spec: lateSpec{Bad: "x"}}, &objectState{})
	w.r.empty, w.client.shows.ResourceLateInitialized = reflect.TypeFor[lateManaged](), true
	if err := w.pass.observe(t.Context()); stageOf(err) != observing {
		t.Errorf("what cannot be filled in ends with %v", err)
	}
}

// TestNoClientOfAnotherSystem verifies that a client of another external system is not called.
func TestNoClientOfAnotherSystem(t *testing.T) {
	for name, tc := range map[string]struct {
		c    ExternalClient
		want bool
	}{
		"nothing":        {nil, false},
		"another system": {&namedSystem{name: "green"}, false},
		"this system":    {&namedSystem{name: "blue"}, true},
	} {
		p := passOf(bearing(map[string]string{meta.AnnotationKeyBackendIdentity: "blue"}), &objectState{})
		p.r.telemetry = p.r.newTelemetry()
		p.r.connecter = NewNopDisconnecter(ExternalConnectorFn(func(context.Context,
			resource.Managed) (ExternalClient, error) {
			return tc.c, nil
		}))
		if err := p.connect(t.Context()); (err == nil) != tc.want || (p.external != nil) != tc.want {
			t.Errorf("%s: %v, and the client is %v", name, err, p.external)
		}
	}
}

// An authorsFinalizer answers with what it makes of an object.
type authorsFinalizer struct {
	add, remove func(resource.Object) error
	added       int
}

func (f *authorsFinalizer) AddFinalizer(_ context.Context, o resource.Object) error {
	f.added++

	return f.add(o)
}

func (f *authorsFinalizer) RemoveFinalizer(_ context.Context, o resource.Object) error {
	return f.remove(o)
}

// TestWhatAnAuthorsFinalizerStores verifies that the pass adopts the resource version and finalizers that an
// author's finalizer has stored, and keeps its own changes.
func TestWhatAnAuthorsFinalizerStores(t *testing.T) {
	theirs := []string{"example.org/theirs"}
	cases := map[string]struct {
		reason  string
		add     func(resource.Object)
		version string
		held    []string
		newer   bool
	}{
		"Added": {"it was added", func(o resource.Object) {
			o.SetResourceVersion("8")
			o.SetFinalizers(theirs)
			o.SetAnnotations(map[string]string{"example.org/own": "2"})
		}, "8", theirs, true},
		"There": {"it was there", func(o resource.Object) { o.SetAnnotations(nil) }, "7", nil, false},
		"Version": {"something else was written", func(o resource.Object) { o.SetResourceVersion("8") }, "8", nil,
			true},
		"Unsaid": {"the version is not told", func(o resource.Object) { o.SetFinalizers(theirs) }, "7", theirs, true},
	}
	for name, tc := range cases {
		f := &authorsFinalizer{add: func(o resource.Object) error {
			tc.add(o)

			return nil
		}}
		w := newStored(bearing(map[string]string{"example.org/own": "1"}), &objectState{}, WithFinalizer(f))
		w.mg.SetConditions(commonv1.Available()) // learned
		before := w.newest
		for range 2 {
			if err := w.addFinalizer(t.Context()); err != nil || f.added != 1 || !w.finalizerAdded {
				t.Errorf("%s: %v, added %d times, finalized %t", name, err, f.added, w.finalizerAdded)
			}
		}
		for what, mg := range map[string]resource.Managed{"the object": w.mg, "the newest": w.newest} {
			if mg.GetResourceVersion() != tc.version || !cmp.Equal(mg.GetFinalizers(), tc.held) ||
				mg.GetAnnotations()["example.org/own"] != "1" {
				t.Errorf("%s: %s: %s is %+v", name, tc.reason, what, mg)
			}
		}
		if !isReady(w.mg) || isReady(w.newest) || (w.newest != before) != tc.newer ||
			(w.state.Version == tc.version) != tc.newer {
			t.Errorf("%s: %s: ready %t, stored %t, newer %t, version %q", name, tc.reason, isReady(w.mg),
				isReady(w.newest), w.newest != before, w.state.Version)
		}
		if before.GetResourceVersion() != "7" || before.GetFinalizers() != nil {
			t.Errorf("%s: what was read is changed: %+v", name, before)
		}
	}
	boom := errors.New("boom")
	w := newStored(bearing(nil), &objectState{},
		WithFinalizer(&authorsFinalizer{add: func(resource.Object) error { return boom }}))
	if err := w.addFinalizer(t.Context()); !errors.Is(err, boom) || w.finalizerAdded {
		t.Errorf("one that fails: %v, finalized %t", err, w.finalizerAdded)
	}
}

// TestWhatIsThereIsMadeSureOf verifies that a live read counts: another resource version is a conflict, the same
// one is not read again, and an older one than was known means a restore.
func TestWhatIsThereIsMadeSureOf(t *testing.T) {
	w := newStored(bearing(nil), &objectState{})
	w.liveCluster.shows.SetResourceVersion("8")
	err := w.checkLive(t.Context())
	var status kerrors.APIStatus
	if !kerrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details.Group != "g" ||
		status.Status().Details.Kind != "K" || w.state.Live {
		t.Errorf("another version: %v, live %t", err, w.state.Live)
	}
	w.liveCluster.shows.SetResourceVersion("7")
	for range 2 {
		if err := w.checkLive(t.Context()); err != nil || w.liveCluster.asked != 2 || !w.state.Live {
			t.Errorf("the same: %v, asked %d times, live %t", err, w.liveCluster.asked, w.state.Live)
		}
	}
	for name, tc := range map[string]struct {
		known, shows string
		went         bool
	}{
		"later than our last write": {"8", "9", false}, "our last write": {"9", "9", false},
		"older than it": {"10", "9", true}, "older than what was read": {"", "6", true},
	} {
		d := controller.NewRestoreDetector()
		w := newStored(bearing(nil), remembering(objectstate.Object{Version: tc.known}),
			WithRestoreDetector(d))
		w.liveCluster.shows.SetResourceVersion(tc.shows)
		if _, err := w.readLive(t.Context()); errors.Is(err, controller.ErrRestored) != tc.went ||
			(d.Restored() != nil) != tc.went {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.liveCluster.shows.SetUID("uid-2")
	if _, err := w.readLive(t.Context()); !errors.Is(err, errReplaced) {
		t.Errorf("another object of the name: %v", err)
	}
}

// TestTheFinalizerIsRemoved verifies that an object without further finalizers is remembered as gone when its
// finalizer is removed, and an abandoned attempt is reported.
func TestTheFinalizerIsRemoved(t *testing.T) {
	boom := errors.New("boom")
	given := map[string]string{
		meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early,
		meta.AnnotationKeyAbandonAttempt: ownID,
	}
	orphaned := map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan}
	for key, value := range given {
		orphaned[key] = value
	}
	unknown := maps.Clone(orphaned)
	delete(unknown, meta.AnnotationKeyAbandonAttempt)
	abandoned := []event.Reason{reasonAbandoned}
	absent := kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, "data")
	cases := map[string]struct {
		reason                  string
		marks                   map[string]string
		author                  *authorsFinalizer
		held                    []string
		answer                  error
		there                   bool // the API server has it
		err                     error
		released, gone, removed bool
		emitted                 []event.Reason
	}{
		"Last": {"ours was the last", nil, nil, []string{FinalizerName}, nil, true, nil, true, true, false,
			nil},
		"Others": {"another keeps it", nil, nil, []string{FinalizerName, "example.org/held"}, nil, true, nil,
			true, false, false, nil},
		"Refused": {"it is kept", nil, nil, []string{FinalizerName}, boom, true, boom, false, false, false, nil},
		"Gone":    {"it was gone", nil, nil, []string{FinalizerName}, absent, false, nil, false, true, false, nil},
		"GivenUp": {"with an attempt", given, nil, []string{FinalizerName}, nil, true, nil, true, true, false,
			abandoned},
		"Orphaned": {"what is orphaned is not looked for anyway", orphaned, nil, []string{FinalizerName}, nil,
			true, nil, true, true, false, nil},
		"Unknown": {"what is orphaned may not be there", unknown, nil, []string{FinalizerName}, nil, true, nil,
			true, true, false, []event.Reason{reasonLeft}},
		"UnknownKept": {"and is told of when the object goes", unknown, nil, []string{FinalizerName}, boom, true,
			boom, false, false, false, nil},
		"Authors": {"the author's was removed", given,
			&authorsFinalizer{remove: func(resource.Object) error { return nil }}, []string{"a"}, nil, true, nil,
			true, false, true, abandoned},
		"AuthorsFirst": {"ours is from before there was the author's", nil,
			&authorsFinalizer{remove: func(resource.Object) error { return nil }}, []string{FinalizerName, "a"}, nil,
			true, nil, true, false, true, nil},
		"AuthorsGone": {"it was gone", nil,
			&authorsFinalizer{remove: func(resource.Object) error { return absent }}, []string{"a"}, nil, false, nil,
			true, false, true, nil},
		"AuthorsNot": {"it was not", nil, &authorsFinalizer{remove: func(resource.Object) error { return boom }},
			[]string{"a"}, nil, true, boom, false, false, false, nil},
	}
	for name, tc := range cases {
		mg := bearing(tc.marks)
		mg.Finalizers, mg.DeletionTimestamp = tc.held, &metav1.Time{Time: noon}
		w := newStored(mg, &objectState{})
		if tc.author != nil {
			w.r.finalizer = tc.author
		}
		if w.writes.answer = func() error { return tc.answer }; !tc.there {
			w.liveCluster.shows = nil
		}
		w.writes.finalizers = true
		err := w.finishDeletion(t.Context())
		if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) ||
			err != nil && stageOf(err) != removingFinalizer {
			t.Errorf("%s: %s: it ended with %v", name, tc.reason, err)
		}
		if w.released != tc.released || w.state.Gone != tc.gone || w.state.FinalizerRemoved != tc.removed {
			t.Errorf("%s: %s: released %t, gone %t, removed %t", name, tc.reason, w.released, w.state.Gone,
				w.state.FinalizerRemoved)
		}
		if tc.author != nil && len(w.writes.sent) > 0 {
			t.Errorf("%s: beside the author's, ours is removed: %q", name, w.writes.sent)
		}
		var emitted []event.Reason
		for _, e := range w.events {
			if emitted = append(emitted, e.Reason); e.Type != event.TypeWarning {
				t.Errorf("%s: no warning: %+v", name, e)
			}
		}
		if diff := cmp.Diff(tc.emitted, emitted); diff != "" {
			t.Errorf("%s: %s: told, -want +got:\n%s", name, tc.reason, diff)
		}
	}
}

// TestWhatAnAuthorsUpdaterWasAnsweredIsKnown verifies that the next write of the pass uses the resource version
// that an author's updater returned.
func TestWhatAnAuthorsUpdaterWasAnsweredIsKnown(t *testing.T) {
	changes := map[string]any{meta.AnnotationKeyCreateAttempt: ownDone}
	w := newStored(bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}), &objectState{},
		WithCriticalAnnotationUpdater(
			CriticalAnnotationUpdateFn(func(_ context.Context, o client.Object) error {
				o.SetResourceVersion("9")
				meta.AddAnnotations(o, map[string]string{"example.org/note": "of another"})

				return nil
			})))
	if err := w.recordByAuthor(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if w.mg.GetResourceVersion() != "9" || w.newest.GetResourceVersion() != "9" ||
		w.mg.GetAnnotations()["example.org/note"] == "" {
		t.Errorf("known are the versions %s and %s, marked %v", w.mg.GetResourceVersion(),
			w.newest.GetResourceVersion(), w.mg.GetAnnotations())
	}
}

// TestWhatIsNotGivenToAnAuthorsUpdater verifies that a failed creation is not passed to an author's updater once
// another one was begun, and that an unsent write is not expected as an echo.
func TestWhatIsNotGivenToAnAuthorsUpdater(t *testing.T) {
	given := 0
	w := newStored(bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownID}), &objectState{},
		WithCriticalAnnotationUpdater(
			CriticalAnnotationUpdateFn(func(context.Context, client.Object) error {
				given++

				return nil
			})))
	for another, want := range map[string]int{second: 0, ownID: 1} {
		given, w.mg = 0, bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownID + "/failed"})
		w.shows.SetAnnotations(map[string]string{meta.AnnotationKeyCreateAttempt: another})
		err := w.recordByAuthor(t.Context(), map[string]any{meta.AnnotationKeyCreateAttempt: ownID + "/failed"})
		if ours := w.state.isOwnEcho(meta.AnnotationKeyCreateAttempt, ownID+"/failed"); err != nil ||
			given != want || ours != (want > 0) {
			t.Errorf("the object is marked with %s: it ended with %v, given %d times, ours is %t", another, err,
				given, ours)
		}
		w.state.written.values = nil
	}
}
