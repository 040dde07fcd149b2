package storecontroller

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain sees to it that nothing goes on when the tests have ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
