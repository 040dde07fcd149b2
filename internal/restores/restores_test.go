package restores_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/restores"
)

// TestCounter verifies that all callers get the same counter.
func TestCounter(t *testing.T) {
	if a, b := restores.Counter(), restores.Counter(); a != b {
		t.Error("there are two counters")
	}
}
