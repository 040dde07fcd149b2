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
	crrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// A recordingManager records its log, its events, and the runnables that are added to it.
type recordingManager struct {
	fake.Manager

	log      logRecorder
	events   logRecorder
	runnable []manager.Runnable
}

func (m *recordingManager) GetLogger() logr.Logger { return funcr.New(m.log.write, funcr.Options{}) }

func (m *recordingManager) GetEventRecorder(string) crrecorder.EventRecorder {
	return managerRecorder{&m.events}
}

func (m *recordingManager) Add(r manager.Runnable) error {
	m.runnable = append(m.runnable, r)

	return nil
}

type managerRecorder struct{ to *logRecorder }

func (r managerRecorder) Eventf(_, _ runtime.Object, kind, reason, _, note string, _ ...any) {
	r.to.write("", kind+" "+reason+" "+note)
}

func (r managerRecorder) AnnotatedEventf(_, _ runtime.Object, annotations map[string]string, kind, reason, _,
	note string, _ ...any) {
	r.to.write("", kind+" "+reason+" "+note+" "+annotations[event.AnnotationKeyStored])
}

// logger returns a logger that writes to the recorder.
func (j *logRecorder) logger() logging.Logger {
	return logging.NewLogrLogger(funcr.New(j.write, funcr.Options{}))
}

// run runs the runnables until the function returns.
func (m *recordingManager) run(t *testing.T, while func()) {
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

// TestManagerLoggerAndRecorder checks that by default the controller logs to the manager's logger and sends events to
// the manager's recorder: lost stores, missing or undecodable primaries, and the events of the author.
func TestManagerLoggerAndRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, primaries, parts := &recordingManager{}, newMemory("things"), newMemory("parts")
		a, err := primaries.Create(t.Context(), storetest.NewThing("ns/a", 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := parts.Write("badpart", []byte("{")); err != nil {
			t.Fatal(err)
		}
		informer := store.NewInformer(primaries, store.InformerOptions{})
		c, err := New(m, "things", "thing", informer,
			noopReconciler,
			Options{TypedOptions: skipNameValidation()}, Owns(store.NewInformer(parts, store.InformerOptions{})))
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
			{"The store was replaced", "things"},
			{"Skipping a primary that was lost with its store", "ns/a"},
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

// TestGarbageDeleteFailureIsLogged checks that each failed deletion of garbage is logged with its cause.
func TestGarbageDeleteFailureIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, parts := &recordingManager{}, &undeletable{Store: newMemory("parts"), key: "left"}
		left := storetest.NewThing("left", 1)
		left.Metadata.Owners = []store.Owner{{Kind: "thing", Key: "ns/gone", Epoch: "0", Revision: 1}}
		if _, err := parts.Create(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		primaries := newMemory("things")
		if _, err := primaries.Create(t.Context(), storetest.NewThing("ns/a", 1)); err != nil { // the store has revision 1
			t.Fatal(err)
		}
		_, err := New(m, "things", "thing", store.NewInformer(primaries, store.InformerOptions{}),
			noopReconciler,
			Options{Resync: time.Hour,
				TypedOptions: skipNameValidation()}, Owns(store.NewInformer[*thing](parts, store.InformerOptions{})))
		if err != nil {
			t.Fatal(err)
		}
		words := []string{"Cannot collect garbage", "left", "an admission webhook says no"}
		m.run(t, func() {
			<-time.After(time.Minute)
			if m.log.has(words...) {
				t.Errorf("a failure is logged before the deletion: %q", m.log.all())
			}
			<-time.After(3 * time.Hour)
		})
		if !m.log.has(words...) {
			t.Errorf("the manager's log has nothing with %q, but %q", words, m.log.all())
		}
	})
}

// TestOptionsLoggerAndRecorder checks that a logger and a recorder in the options, and the logger of an informer, take
// precedence over those of the manager.
func TestOptionsLoggerAndRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, own, ofInformer, events := &recordingManager{}, &logRecorder{}, &logRecorder{}, &recorder{}
		primaries := newMemory("things")
		if err := primaries.Write("ns/bad", []byte("{")); err != nil {
			t.Fatal(err)
		}
		c, err := New(m, "things", "thing", store.NewInformer(primaries, store.InformerOptions{Logger: ofInformer.logger()}),
			ReconcilerFunc[*thing](nil), Options{Logger: own.logger(), Recorder: events, TypedOptions: skipNameValidation()})
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
		events.expect(t, "Normal Seen")
		if got := m.events.all(); len(got) != 0 {
			t.Errorf("the manager's recorder has %q", got)
		}
	})
}

// TestDefaultLoggerOfController checks that without a manager, the controller logs to the log of controller-runtime.
func TestDefaultLoggerOfController(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.must(w.primaries.Write("ns/odd", []byte("{"))) }, func(w *world) {
		w.c.Enqueue("ns/odd")
		w.settle()
		for _, words := range [][]string{{"Skipping a primary that cannot be decoded", "ns/odd"},
			{"Skipping an entry that cannot be decoded", "ns/odd"}} {
			if !globalLog.has(words...) {
				t.Errorf("no line has %q, but %q", words, globalLog.all())
			}
		}
	})
}
