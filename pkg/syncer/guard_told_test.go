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

// A logbook has the lines that controller-runtime's logger was given.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

// logged is the logbook of this process, which has one such logger: it is set once.
var logged = sync.OnceValue(func() *logbook {
	b := &logbook{}
	ctrllog.SetLogger(funcr.NewJSON(func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lines = append(b.lines, line)
	}, funcr.Options{}))
	return b
})

// of returns how many lines say one thing of a cluster.
func (b *logbook) of(what ...string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.lines {
		if !slices.ContainsFunc(what, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	return n
}

// TestGuardTells: an operator reads that the virtual cluster was restored, or that another one answers in its place, and not both: the versions of another one
// may be lower, too.
func TestGuardTells(t *testing.T) {
	const restored, replaced = "The virtual cluster was restored", "cluster that answers in place of the virtual one"
	book := logged()
	for _, tc := range []struct {
		reason, uid, version string
		restored, replaced   int
	}{
		{"a virtual cluster as it was", "teal", "874", 0, 0},
		{"a virtual cluster that was restored", "teal", "219", 2, 0},
		{"another cluster", "grey", "219", 0, 1},
	} {
		virtual := &snapshot{}
		virtual.set("teal", "874")
		config, _, err := syncer.Guard(t.Context(), &rest.Config{Host: "http://a.example", Transport: virtual})
		if err != nil {
			t.Fatal(err)
		}
		c, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		told := func(what string) int { return book.of(what, `"syncer"`) }
		wasRestored, wasReplaced := told(restored), told(replaced)
		watches(t, configured{c})
		virtual.set(tc.uid, tc.version)
		code := watches(t, configured{c})
		if r, o := told(restored)-wasRestored, told(replaced)-wasReplaced; r != tc.restored || o != tc.replaced {
			t.Errorf("%s: told %d times that it was restored, %d times that it was replaced; the watches ended with %d", tc.reason, r, o, code)
		}
	}
}
