package natskv

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/leak"
)

// TestMain fails if a goroutine outlives the tests.
func TestMain(m *testing.M) { leak.VerifyTestMain(m) }
