package dev

import (
	"context"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestChanged writes files: generated files, build results, tests and reports are no sources.
func TestChanged(t *testing.T) {
	cases := map[string]struct {
		file string
		want bool
	}{
		"Source":    {"internal/api/client.go", true},
		"Module":    {"go.mod", true},
		"Test":      {"internal/api/client_test.go", false},
		"Generated": {"apis/v1alpha1/zz_generated.deepcopy.go", false},
		"Kind":      {"internal/controller/cluster/cluster.go", true},
		"Command":   {"cmd/bin/main.go", true},
		"Editor":    {"internal/api/.#client.go", false},
		"Aside":     {"internal/api/_client.go", false},
		"Built":     {"bin/made.go", false},
		"Data":      {"cluster/x.go", false},
		"Package":   {"package/crds/x.yaml", false},
		"Hidden":    {".git/x.go", false},
		"Example":   {"examples/bucket.yaml", true},
		"Locked":    {"examples/.#bucket.yaml", false},
		"Notes":     {"examples/README.md", false},
		"Deeper":    {"examples/more/bucket.yaml", false},
		"Elsewhere": {"internal/examples/bucket.yaml", false},
		"Text":      {"README.md", false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()

			before, err := look(dir)
			if err != nil {
				t.Fatal(err)
			}

			path := filepath.Join(dir, filepath.FromSlash(tc.file))
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}

			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}

			after, err := look(dir)
			if err != nil {
				t.Fatal(err)
			}

			if (before != after) != tc.want {
				t.Errorf("%s: seen as a change: %t", tc.file, before != after)
			}

			if !tc.want {
				return
			}

			now := func() (sight, error) { return look(dir) }

			if err := changed(t.Context(), now, before, time.Millisecond); err != nil {
				t.Errorf("a change is not waited for any longer: %v", err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			cancel()

			if err := changed(ctx, now, after, time.Hour); err == nil {
				t.Error("nothing changed, and that was told as a change")
			}
		})
	}
}

// TestLookExamples changes an example: a session that applies none does not notice.
func TestLookExamples(t *testing.T) {
	dir := exampleDir(t)

	for _, examples := range []bool{false, true} {
		s := &session{Options: Options{Dir: dir, Examples: examples}}

		before, err := s.look()
		if err != nil {
			t.Fatal(err)
		}

		file, err := os.OpenFile(filepath.Join(dir, "examples", "bucket.yaml"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}

		if _, err := file.WriteString(" # more"); err != nil {
			t.Fatal(err)
		}

		if err := file.Close(); err != nil {
			t.Fatal(err)
		}

		after, err := s.look()
		if err != nil {
			t.Fatal(err)
		}

		if before.sources != after.sources || (before.examples != after.examples) != examples {
			t.Errorf("examples are applied: %t; and an example that changed is seen as %+v, before %+v", examples, after, before)
		}
	}
}

// TestLookConcurrentRemoval reads a folder that is partly removed meanwhile, as when git changes the branch, and a
// missing one.
func TestLookConcurrentRemoval(t *testing.T) {
	dir := t.TempDir()

	gone := &fs.PathError{Op: "open", Path: filepath.Join(dir, "internal"), Err: fs.ErrNotExist}
	if err := note(dir, fnv.New64a(), fnv.New64a())(gone.Path, nil, gone); err != nil {
		t.Errorf("a folder has gone, and that is no reason to end: %v", err)
	}

	if _, err := look(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is no such provider, and the error is %v", err)
	}
}
