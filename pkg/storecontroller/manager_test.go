package storecontroller

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// A hearing manager keeps what is told to its logger and to its recorder of events, and what
// it is given to run.
type hearing struct {
	fake.Manager

	log      journal
	events   journal
	runnable []manager.Runnable
}

func (m *hearing) GetLogger() logr.Logger { return funcr.New(m.log.write, funcr.Options{}) }

func (m *hearing) GetEventRecorder(string) crrecorder.EventRecorder {
	return hearingRecorder{&m.events}
}

func (m *hearing) Add(r manager.Runnable) error {
	m.runnable = append(m.runnable, r)

	return nil
}

type hearingRecorder struct{ to *journal }

func (r hearingRecorder) Eventf(_, _ runtime.Object, kind, reason, _, note string, _ ...any) {
	r.to.write("", kind+" "+reason+" "+note)
}

func (r hearingRecorder) AnnotatedEventf(_, _ runtime.Object, annotations map[string]string, kind, reason, _, note string, _ ...any) {
	r.to.write("", kind+" "+reason+" "+note+" "+annotations[event.AnnotationKeyStored])
}

// logger returns one that writes into the journal.
func (j *journal) logger() logging.Logger {
	return logging.NewLogrLogger(funcr.New(j.write, funcr.Options{}))
}

// run runs what the manager was given until the function returns.
func (m *hearing) run(t *testing.T, while func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, r := range m.runnable {
		running.Go(func() {
			if err := r.Start(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	while()
}

// TestTheManagersLoggerAndRecorder: who gives no logger and no recorder finds in those of the
// manager what the controller is for: a store that was lost, primaries that are missing or
// cannot be decoded, and the events of the author.
func TestTheManagersLoggerAndRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, primaries, parts := &hearing{}, newMemory("things"), newMemory("parts")
		a, err := primaries.Create(t.Context(), storetest.NewThing("ns/a", 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := parts.Write("badpart", []byte("{")); err != nil {
			t.Fatal(err)
		}
		informer := store.NewInformer(primaries, store.InformerOptions{})
		c, err := New(m, "things", "thing", informer,
			ReconcilerFunc[*thing](func(context.Context, string, *thing, bool) (reconcile.Result, error) { return reconcile.Result{}, nil }),
			Options{TypedOptions: unnamed()}, Owns(store.NewInformer(parts, store.InformerOptions{})))
		if err != nil {
			t.Fatal(err)
		}
		m.run(t, func() {
			<-time.After(time.Second)
			c.Event(a, event.Normal("Seen", "Look"))
			primaries.Recreate()
			if err := primaries.Write("ns/bad", []byte("{")); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			c.Enqueue("ns/a", "ns/bad")
			<-time.After(time.Minute)
		})
		for _, words := range [][]string{
			{"The store is not the one it was", "things"},
			{"A primary is missing", "ns/a"},
			{"Skipping a primary that cannot be decoded", "ns/bad"},
			{"Skipping an entry that cannot be decoded", "parts", "badpart"},
		} {
			if !m.log.has(words...) {
				t.Errorf("the manager's log has nothing with %q, but %q", words, m.log.all())
			}
		}
		for _, words := range [][]string{{"Normal Seen", "ns/a"}, {"Warning PrimaryLost", "ns/a"}} {
			if !m.events.has(words...) {
				t.Errorf("the manager's recorder has nothing with %q, but %q", words, m.events.all())
			}
		}
	})
}

// TestGarbageThatCannotBeDeletedIsTold: the manager's log says what is left of a primary that is
// gone, and why, each time that it is tried.
func TestGarbageThatCannotBeDeletedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, parts := &hearing{}, &stubborn{Store: newMemory("parts"), key: "left"}
		left := storetest.NewThing("left", 1)
		left.Metadata.Owners = []store.Owner{{Kind: "thing", Key: "ns/gone", Epoch: "0", Revision: 1}}
		if _, err := parts.Create(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		primaries := newMemory("things")
		if _, err := primaries.Create(t.Context(), storetest.NewThing("ns/a", 1)); err != nil { // the store is at revision 1
			t.Fatal(err)
		}
		_, err := New(m, "things", "thing", store.NewInformer(primaries, store.InformerOptions{}),
			ReconcilerFunc[*thing](func(context.Context, string, *thing, bool) (reconcile.Result, error) { return reconcile.Result{}, nil }),
			Options{Resync: time.Hour, TypedOptions: unnamed()}, Owns(store.NewInformer[*thing](parts, store.InformerOptions{})))
		if err != nil {
			t.Fatal(err)
		}
		words := []string{"Cannot collect garbage", "left", "an admission webhook says no"}
		m.run(t, func() {
			<-time.After(time.Minute)
			if m.log.has(words...) {
				t.Errorf("it is told before it is tried: %q", m.log.all())
			}
			<-time.After(3 * time.Hour)
		})
		if !m.log.has(words...) {
			t.Errorf("the manager's log has nothing with %q, but %q", words, m.log.all())
		}
	})
}

// TestTheLoggerThatWasGiven: a logger and a recorder in the options, and a logger of an
// informer, come before those of the manager.
func TestTheLoggerThatWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, own, ofInformer, events := &hearing{}, &journal{}, &journal{}, &recorder{}
		primaries := newMemory("things")
		if err := primaries.Write("ns/bad", []byte("{")); err != nil {
			t.Fatal(err)
		}
		c, err := New(m, "things", "thing", store.NewInformer(primaries, store.InformerOptions{Logger: ofInformer.logger()}),
			ReconcilerFunc[*thing](nil), Options{Logger: own.logger(), Recorder: events, TypedOptions: unnamed()})
		if err != nil {
			t.Fatal(err)
		}
		m.run(t, func() {
			<-time.After(time.Second)
			c.Enqueue("ns/bad")
			c.Event(storetest.NewThing("ns/a", 1), event.Normal("Seen", "Look"))
			<-time.After(time.Second)
		})
		if !own.has("Skipping a primary") || !ofInformer.has("Skipping an entry") || m.log.has("Skipping") {
			t.Errorf("own: %q, the informer's: %q, the manager's: %q", own.all(), ofInformer.all(), m.log.all())
		}
		events.said(t, "Normal Seen")
		if got := m.events.all(); len(got) != 0 {
			t.Errorf("the manager's recorder has %q", got)
		}
	})
}

// TestDefaultLogOfTheController: without a manager, what the controller says by itself stands
// where its failed passes do: in controller-runtime's log.
func TestDefaultLogOfTheController(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.must(w.primaries.Write("ns/odd", []byte("{"))) }, func(w *world) {
		w.c.Enqueue("ns/odd")
		w.rest()
		for _, words := range [][]string{{"Skipping a primary that cannot be decoded", "ns/odd"}, {"Skipping an entry that cannot be decoded", "ns/odd"}} {
			if !logged.has(words...) {
				t.Errorf("nothing was said with %q, but %q", words, logged.all())
			}
		}
	})
}
