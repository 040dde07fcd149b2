package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestBusy checks that runBusy returns the result of the command, that the loops end with it or before it, and that
// invalid arguments start nothing.
func TestBusy(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		code   int // of the command
		usage  bool
	}{
		"Passes": {"A command that passes beside the loops passes.", []string{"3", "1m", "true"}, 0, false},
		"Fails": {"A command that fails fails with its own code.", []string{"1", "1m", "bash", "-c", "exit 7"}, 7,
			false},
		"Outlived": {"A command that takes longer than the loops goes on, and keeps its code.",
			[]string{"1", "1ns", "bash", "-c", "exit 3"}, 3, false},
		"NoCommand":  {"Without a command there is nothing to run.", []string{"8", "1m"}, 0, true},
		"NoLoops":    {"No loop is no slow machine.", []string{"0", "1m", "true"}, 0, true},
		"NoDuration": {"A time without a unit is none.", []string{"8", "60", "true"}, 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := runBusy(t.Context(), tc.args)
			var exit *exec.ExitError
			code := 0
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			if code != tc.code || errors.Is(err, errBusyUsage) != tc.usage {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestBusyOutlived checks that a command that passes after the loops have ended is a failure.
func TestBusyOutlived(t *testing.T) {
	if err := runBusy(t.Context(), []string{"1", "1ns", "true"}); err == nil ||
		!strings.Contains(err.Error(), "the loops ended after 1ns") {
		t.Errorf("got %v", err)
	}
}

// TestKeepBusy checks that loops compute until their context ends.
func TestKeepBusy(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	before := processes()[os.Getpid()].own
	var running sync.WaitGroup
	keepBusy(ctx, 2, &running)
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		wait.Until(t, "the loops have used a processor for half a second",
			func() bool { return processes()[os.Getpid()].own > before+50 })
	}
	stop()
	running.Wait()
}
