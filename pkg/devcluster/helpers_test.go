package devcluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// within is how long a test waits for what must happen on a busy machine.
const within = 3 * time.Minute

// eventually fails the test if the condition does not come true in time.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(within); !condition(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// write makes files with content, and their folders.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// program makes an executable file.
func program(t *testing.T, path string) {
	t.Helper()
	write(t, filepath.Dir(path), map[string]string{filepath.Base(path): "#!/bin/sh\n"})
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
