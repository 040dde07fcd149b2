package kube_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }
