package store_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/leak"
)

// TestMain sees to it that nothing goes on when the tests have ended.
func TestMain(m *testing.M) { leak.VerifyTestMain(m) }
