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

// TestMain listens to controller-runtime's log, which can be done once, and sees to it
// that nothing goes on when the tests have ended.
func TestMain(m *testing.M) {
	log.SetLogger(funcr.New(logged.write, funcr.Options{}))
	leak.VerifyTestMain(m)
}

// logged is what was told to controller-runtime's log.
var logged journal

type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) write(_, line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()

	return slices.Clone(j.lines)
}

// has tells whether there is a line with all of the words.
func (j *journal) has(words ...string) bool {
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
