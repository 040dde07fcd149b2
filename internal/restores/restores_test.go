package restores_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/restores"
)

func TestWentBack(t *testing.T) {
	for name, tc := range map[string]struct {
		known, answered string
		want            bool
		reason          string
	}{
		"Lower":         {"874", "219", true, "what was written is gone"},
		"Fewer":         {"1000", "999", true, "they are compared as numbers"},
		"Equal":         {"874", "874", false, "nothing was written"},
		"Higher":        {"219", "874", false, "versions grow"},
		"Unknown":       {"", "219", false, "nothing was known"},
		"Unanswered":    {"874", "", false, "nothing was answered"},
		"NotComparable": {"rev-9", "rev-1", false, "such versions say nothing"},
	} {
		if got := restores.WentBack(tc.known, tc.answered); got != tc.want {
			t.Errorf("%s: WentBack(%q, %q) is %t, want %t: %s", name, tc.known, tc.answered, got, tc.want, tc.reason)
		}
	}
}

// TestCounter: whoever asks for the counter has the same one.
func TestCounter(t *testing.T) {
	if a, b := restores.Counter(), restores.Counter(); a != b {
		t.Error("there are two counters")
	}
}
