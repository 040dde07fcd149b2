//go:build unix

package devcluster

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func shell(t *testing.T, script string) *process {
	t.Helper()
	p, err := startProcess("/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func TestAwaitLine(t *testing.T) {
	cases := map[string]struct {
		reason  string
		script  string
		timeout time.Duration
		want    string
	}{
		"Line":    {"the first line says that it is ready", "echo ready; exec cat", wait.Patience(), ""},
		"Words":   {"a program that fails says why", "echo port taken >&2; exit 1", wait.Patience(), "port taken"},
		"Silent":  {"a program that fails without a word has an exit code", "exit 3", wait.Patience(), "exit status 3"},
		"Timeout": {"a program may hang", "echo loading >&2; exec cat", 200 * time.Millisecond, "was not ready after 200ms"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := shell(t, c.script).awaitLine(t.Context(), c.timeout)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: error %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

func TestAwaitLineEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := shell(t, "exec cat").awaitLine(ctx, wait.Patience()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestProcessStops(t *testing.T) {
	p := shell(t, "echo ready; exec cat")
	if err := p.stop(wait.Patience(), p.terminate); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := p.stop(wait.Patience(), p.terminate); err != nil {
		t.Errorf("stop of a process that has ended: %v", err)
	}
	stubborn := shell(t, "trap '' TERM; echo ready; while :; do read x || :; done")
	if err := stubborn.awaitLine(t.Context(), wait.Patience()); err != nil {
		t.Fatal(err)
	}
	if err := stubborn.stop(100*time.Millisecond, stubborn.terminate); err == nil ||
		!strings.Contains(err.Error(), "was killed") {
		t.Errorf("error %v, want one that says that it was killed", err)
	}
}

// TestSupervise checks the script that ends programs which do not look after
// their parent.
func TestSupervise(t *testing.T) {
	cases := map[string]struct {
		reason string
		end    func(*process) error
	}{
		"Stop": {"the owner stops it", func(p *process) error { return p.stop(wait.Patience(), p.closeInput) }},
		"Killed": {"the end of standard input is what a parent's death looks like",
			func(p *process) error { return p.stdin.Close() }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := startProcess("/bin/sh", "-c", supervise, "sh", "/bin/sh", "-c", "echo running; exec tail -f /dev/null")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.kill)
			if err := p.awaitLine(t.Context(), wait.Patience()); err != nil {
				t.Fatal(err)
			}
			if err := c.end(p); err != nil {
				t.Errorf("%s: %v", c.reason, err)
			}
			<-p.done
			wait.Until(t, "the whole group is gone", func() bool {
				return errors.Is(syscall.Kill(-p.cmd.Process.Pid, 0), syscall.ESRCH)
			})
		})
	}
}

func TestRunDetachedSaysWhyNot(t *testing.T) {
	err := runDetached(t.Context(), wait.Patience(), "/bin/sh", "-c", "echo folder is in use >&2; exit 1")
	if err == nil || err.Error() != "folder is in use" {
		t.Errorf("error %v, want the program's words", err)
	}
	if err := runDetached(t.Context(), 100*time.Millisecond, "/bin/sh", "-c", "exec tail -f /dev/null"); err == nil {
		t.Error("a program that is never ready was taken for ready")
	}
}
