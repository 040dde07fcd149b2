package syncer_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/syncer"
)

// A logLines contains the lines of controller-runtime's logger.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

// logged returns the log lines of this process. The logger is set once.
var logged = sync.OnceValue(func() *logLines {
	b := &logLines{}
	ctrllog.SetLogger(funcr.NewJSON(func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lines = append(b.lines, line)
	}, funcr.Options{}))
	return b
})

// count returns the number of lines that contain all parts.
func (b *logLines) count(what ...string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.lines {
		if !slices.ContainsFunc(what, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	return n
}

// TestGuardLogsRestoreAndReplacement verifies that a restore and a replacement of the
// virtual cluster are each logged, and not confused: another cluster may have lower
// versions, too.
func TestGuardLogsRestoreAndReplacement(t *testing.T) {
	const restored, replaced = "The virtual cluster was restored", "Another cluster answers in place"
	book := logged()
	for _, tc := range []struct {
		reason, uid, version string
		restored, replaced   int
	}{
		{"an unchanged virtual cluster", "teal", "874", 0, 0},
		{"a restored virtual cluster", "teal", "219", 2, 0},
		{"another cluster", "grey", "219", 0, 1},
	} {
		virtual := &versionedCluster{}
		virtual.set("teal", "874")
		config, _, err := syncer.Guard(t.Context(), &rest.Config{Host: "http://a.example", Transport: virtual})
		if err != nil {
			t.Fatal(err)
		}
		c, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		count := func(what string) int { return book.count(what, `"syncer"`) }
		wasRestored, wasReplaced := count(restored), count(replaced)
		resumeWatches(t, httpClientHolder{c})
		virtual.set(tc.uid, tc.version)
		code := resumeWatches(t, httpClientHolder{c})
		if r, o := count(restored)-wasRestored, count(replaced)-wasReplaced; r != tc.restored || o != tc.replaced {
			t.Errorf("%s: logged %d restores, %d replacements; the watches ended with %d", tc.reason, r, o, code)
		}
	}
}
