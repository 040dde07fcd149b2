package dev

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// TestChild starts processes and stops them, including those that have ended before.
func TestChild(t *testing.T) {
	var out bytes.Buffer

	c, err := start(&out, t.TempDir(), "talker", []string{"WORD=hello"}, "sh", "-c", `echo $WORD; printf half; exit 3`)
	if err != nil {
		t.Fatal(err)
	}

	down := errors.New("down")
	if err := c.awaits(t.Context(), wait.Budget(t), func() error { return down }); !errors.Is(err, down) ||
		!strings.Contains(err.Error(), "the talker has ended: exit status 3") {
		t.Errorf("a process that has ended is waited for no longer: %v", err)
	}

	c.stop()

	if got := out.String(); got != "talker: hello\ntalker: half\n" {
		t.Errorf("lines are told, the last as well, with the name of the process: %q", got)
	}

	sleeper, err := start(&out, t.TempDir(), "sleeper", nil, "sleep", "600")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if err := sleeper.awaits(ctx, wait.Budget(t), func() error { return down }); !errors.Is(err, down) {
		t.Errorf("whoever does not want to wait does not: %v", err)
	}

	sleeper.stop()

	select {
	case <-sleeper.done:
	default:
		t.Error("it was stopped, and runs on")
	}

	var none *child
	none.stop()
}
