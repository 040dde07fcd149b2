package trim_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/examples/edge/internal/trim"
)

// resident returns the resident memory of the process that is backed by files, in kilobytes; 0 if the system does not
// report it.
func resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "RssFile:"); ok {
			kilobytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			if err != nil {
				t.Fatal(err)
			}

			return kilobytes
		}
	}

	return 0
}

// TestProgram: the program continues after its pages are released, and has no more of them than before. The kernel
// decides whether it reclaims any.
func TestProgram(t *testing.T) {
	before := resident(t)
	trim.Program()
	after := resident(t)
	if t.Logf("%d kB before, %d kB after", before, after); after > before+4<<10 {
		t.Errorf("%d kB of files were in memory before, and %d kB after", before, after)
	}
}
