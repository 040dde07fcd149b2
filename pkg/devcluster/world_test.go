package devcluster

import (
	"os"
	"path/filepath"
	"testing"
)

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
