package store_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/leak"
)

// TestMain checks for leaked goroutines.
func TestMain(m *testing.M) { leak.VerifyTestMain(m) }
