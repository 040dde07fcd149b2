package leak

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestAwait checks that a goroutine that ends after a while is waited for, and one that stays is reported.
func TestAwait(t *testing.T) {
	before := []goleak.Option{goleak.IgnoreCurrent()}
	end := make(chan struct{})
	go func() { <-end }()
	if await(0, before) {
		t.Error("a goroutine is there, and is not found")
	}
	time.AfterFunc(2*time.Second, func() { close(end) })
	if !await(wait.Patience(), before) {
		t.Error("a goroutine that has ended is found")
	}
	VerifyNone(t, before...)
}

func TestMain(m *testing.M) { VerifyTestMain(m) }
