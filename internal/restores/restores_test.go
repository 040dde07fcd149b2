package restores_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/restores"
)

// TestCounter: whoever asks for the counter has the same one.
func TestCounter(t *testing.T) {
	if a, b := restores.Counter(), restores.Counter(); a != b {
		t.Error("there are two counters")
	}
}
