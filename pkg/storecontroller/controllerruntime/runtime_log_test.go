package controllerruntime

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A logRecorder records log lines.
type logRecorder struct {
	mu    sync.Mutex
	lines []string
}

func (j *logRecorder) write(_, line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *logRecorder) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = nil
}

// has fails the test unless one line contains all of the words.
func (j *logRecorder) has(t *testing.T, words ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return
		}
	}
	t.Errorf("no line has %v, but\n%s", words, strings.Join(j.lines, "\n"))
}

// TestLog checks that failures, panics, undecodable entries and lost primaries are logged.
func TestLog(t *testing.T) {
	j := &logRecorder{}
	inWorld(t, func(w *world) {
		w.c.panics = "sync panics"
		w.must(w.primaries.Write("badthing", []byte("{")))
		w.must(w.parts.Write("badpart", []byte("{")))
		w.must(w.domains.Write("baddomain", []byte("{")))
		w.part("p", store.Owner{Kind: "thing", Key: "lost", Epoch: "another", Revision: 1})
	}, func(w *world) {
		w.c.rt.SetLogger(logging.NewLogrLogger(funcr.New(j.write, funcr.Options{})))
		w.c.errs["fails"] = errBoom
		w.create(w.primaries, "panics", "")
		w.create(w.primaries, "fails", "")
		w.run()
		j.has(t, "badthing")
		j.has(t, "badpart")
		j.has(t, "baddomain")
		j.has(t, "fails", errBoom.Error())
		j.has(t, "panic", "SyncHandler", "sync panics")
		j.has(t, "primary that was lost", "lost")
		if w.c.rt.Panics() == 0 {
			t.Error("no panic was counted")
		}
		w.advance(time.Second)
		events, err := w.kube.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		w.must(err)
		if len(events.Items) != 1 || events.Items[0].Reason != "PrimaryLost" {
			t.Errorf("events: %+v", events.Items)
		}
		w.end()
	})
}

// TestFailedPassIsLoggedByDefault checks that without SetLogger failures are in the log of controller-runtime.
func TestFailedPassIsLoggedByDefault(t *testing.T) {
	globalLog.forget()
	inWorld(t, nil, func(w *world) {
		w.c.errs["fails"] = errBoom
		w.create(w.primaries, "fails", "")
		w.run()
		globalLog.has(t, "fails", errBoom.Error())
		w.end()
	})
}
