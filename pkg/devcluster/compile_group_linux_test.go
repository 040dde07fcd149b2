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
