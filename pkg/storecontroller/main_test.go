package storecontroller

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/internal/leak"
)

// TestMain sets the log of controller-runtime, which can be set once, and checks for leaked goroutines.
func TestMain(m *testing.M) {
	log.SetLogger(funcr.New(globalLog.write, funcr.Options{}))
	leak.VerifyTestMain(m)
}

// globalLog holds the messages of controller-runtime's log.
var globalLog logRecorder

type logRecorder struct {
	mu    sync.Mutex
	lines []string
}

func (j *logRecorder) write(_, line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *logRecorder) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()

	return slices.Clone(j.lines)
}

// has returns whether one line contains all of the words.
func (j *logRecorder) has(words ...string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
lines:
	for _, line := range j.lines {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue lines
			}
		}

		return true
	}

	return false
}
