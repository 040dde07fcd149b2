package devcluster

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestGoCommandsDoNotGetCtrlC verifies that a go command is in a process group of its own, so that Ctrl-C in a terminal
// ends it by the context of the caller alone.
func TestGoCommandsDoNotGetCtrlC(t *testing.T) {
	bin, group := t.TempDir(), filepath.Join(t.TempDir(), "group")
	script := "#!/bin/sh\ncut -d' ' -f5 /proc/$$/stat > " + group + "\necho go1.0\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	b := builder{source: t.TempDir(), cache: t.TempDir(), progress: io.Discard}
	if _, err := b.hash(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(group)
	if err != nil {
		t.Fatal(err)
	}
	got, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || got == syscall.Getpgrp() {
		t.Errorf("go env is in the process group %q (%v), which is that of its caller", text, err)
	}
}

// TestCtrlCBeforeTheGroup: Ctrl-C that ends a go command before its process has left the group of the caller is no
// error of the command.
func TestCtrlCBeforeTheGroup(t *testing.T) {
	bin, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	script := "#!/bin/sh\nif [ ! -e " + mark + " ]; then touch " + mark + "; kill -INT $$; fi\necho go1.0\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	output, err := goOutput(t.Context(), t.TempDir(), "env")
	if err != nil || string(output) != "go1.0\n" {
		t.Errorf("go env says %q, and %v", output, err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("it was not interrupted: %v", err)
	}
}
