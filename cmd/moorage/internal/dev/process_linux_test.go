package dev

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// TestKilled kills a process that has started another, as a user may kill moorage dev: no process is left. Both hold
// an end of a pipe, which is closed when they are gone.
func TestKilled(t *testing.T) {
	const parent = "TEST_KILLED_PARENT"

	if os.Getenv(parent) != "" {
		c, err := start(os.Stderr, ".", "child", nil, "sh", "-c", "echo up >&3; exec sleep 600")
		if err != nil {
			t.Fatal(err)
		}

		<-c.done
		t.Fatalf("nobody has killed this one, and %s", c.how())
	}

	held, holds, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
	cmd.Env, cmd.Stderr, cmd.ExtraFiles = append(os.Environ(), parent+"=1"), os.Stderr, []*os.File{holds}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	_ = holds.Close()
	lines := bufio.NewReader(held)

	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("the child did not start: %v", err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = cmd.Wait()

	if err := held.SetReadDeadline(time.Now().Add(wait.Budget(t))); err != nil {
		t.Fatal(err)
	}

	if _, err := io.ReadAll(lines); err != nil {
		t.Errorf("its parent was killed long ago, and the child goes on: %v", err)
	}
}

// TestGroup stops a process that waits for another one: both get the signal.
func TestGroup(t *testing.T) {
	said := &record{}

	c, err := start(said, t.TempDir(), "family", nil, "sh", "-c",
		"trap : TERM; sh -c 'echo up; exec sleep 600'; echo alone")
	if err != nil {
		t.Fatal(err)
	}

	said.until(t, "up", 1)
	c.stop()

	if got := said.String(); !strings.Contains(got, "alone") {
		t.Errorf("its child was not asked, and so it waited until it was killed: %q, %s", got, c.how())
	}
}
