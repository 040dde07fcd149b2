package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test/server"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// impatient is the time that a stubborn server has after SIGTERM.
const impatient = 300 * time.Millisecond

// background is a script that starts a server and waits for it, but forwards no signal.
const background = `"$@" & wait`

// stubborn returns the greeter that ignores SIGTERM.
func stubborn() server.Program {
	p := greeter()
	p.Args = func(at server.Place) []string { return []string{"serve-stubbornly", at.Address()} }

	return server.WithGrace(p, impatient)
}

// wrapped returns a program that is started by a shell script.
func wrapped(p server.Program, script string) server.Program {
	args := p.Args
	p.Name = "sh"
	p.Args = func(at server.Place) []string { return append([]string{"-c", script, "sh", os.Args[0]}, args(at)...) }

	return p
}

// serveStubbornly serves, and ignores SIGTERM.
func serveStubbornly(address string) {
	signal.Ignore(syscall.SIGTERM)
	serve(address)
}

// abandon starts a stubborn server, says that it answers, and kills this process.
func abandon(address string) {
	if _, err := server.Start(context.Background(), wrapped(stubborn(), background), address); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// closed waits until no process listens at an address.
func closed(t *testing.T, address string) {
	t.Helper()
	wait.Until(t, "the server has ended", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return true
		}
		_ = conn.Close()

		return false
	})
}

// folders returns the folders of servers in a folder for temporary files.
func folders(t *testing.T, temp string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(temp, "server-*"))
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// TestStopEndsGroup stops programs that SIGTERM to their process alone does not stop.
func TestStopEndsGroup(t *testing.T) {
	cases := map[string]struct {
		reason  string
		program server.Program
	}{
		"Wrapper":  {"SIGTERM ends a script, but not its server.", wrapped(greeter(), background)},
		"Stubborn": {"The server ignores SIGTERM.", stubborn()},
		"Both":     {"SIGTERM ends a script, and its server ignores it.", wrapped(stubborn(), background)},
		"Trap":     {"The script ignores SIGTERM.", wrapped(stubborn(), `trap "" TERM; "$@"; exit`)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			s, err := server.Start(t.Context(), tc.program, address(t))
			if err != nil {
				t.Fatal(err)
			}
			s.Stop()
			if text, err := greeting(s.Address()); err == nil {
				t.Errorf("%s\nafter Stop it still answers %q", tc.reason, text)
			}
			if left := folders(t, temp); len(left) > 0 {
				t.Errorf("%s\nStop left %q", tc.reason, left)
			}
		})
	}
}

// TestEndOfProcess ends a server that ignores SIGTERM when the process that started it is killed.
func TestEndOfProcess(t *testing.T) {
	temp, at := t.TempDir(), address(t)
	cmd := exec.CommandContext(wait.Context(t), os.Args[0], "abandon", at)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
	closed(t, at)
	wait.Until(t, "the folder is removed", func() bool { return len(folders(t, temp)) == 0 })
}

// TestEndOfWrapper ends a server when the script ends that has started it.
func TestEndOfWrapper(t *testing.T) {
	s, err := server.Start(t.Context(), wrapped(greeter(), `echo $$ >wrapper; `+background), address(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	dir, err := greeting(s.Address())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "wrapper"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	closed(t, s.Address())
}

// TestStopWithoutLeash stops a server whose leash was killed.
func TestStopWithoutLeash(t *testing.T) {
	s, err := server.Start(t.Context(), wrapped(stubborn(), background), address(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.KillLeash(s); err != nil {
		t.Error(err)
	}
	s.Stop()
	closed(t, s.Address())
}
