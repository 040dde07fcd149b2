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

// TestChanged writes files: what is generated, built, tested or told is no source.
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
		"Example":   {"examples/berth.yaml", true},
		"Locked":    {"examples/.#berth.yaml", false},
		"Notes":     {"examples/README.md", false},
		"Deeper":    {"examples/more/berth.yaml", false},
		"Elsewhere": {"internal/examples/berth.yaml", false},
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

// TestLookAtWhatIsApplied changes an example: that is nothing to a session that applies none.
func TestLookAtWhatIsApplied(t *testing.T) {
	dir := exampleDir(t)

	for _, examples := range []bool{false, true} {
		s := &session{Options: Options{Dir: dir, Examples: examples}}

		before, err := s.look()
		if err != nil {
			t.Fatal(err)
		}

		file, err := os.OpenFile(filepath.Join(dir, "examples", "berth.yaml"), os.O_APPEND|os.O_WRONLY, 0)
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

// TestLookWhileFoldersGo looks at a folder of which some goes at the same time, as when git
// changes to another branch, and at one that is not there at all.
func TestLookWhileFoldersGo(t *testing.T) {
	dir := t.TempDir()

	gone := &fs.PathError{Op: "open", Path: filepath.Join(dir, "internal"), Err: fs.ErrNotExist}
	if err := note(dir, fnv.New64a(), fnv.New64a())(gone.Path, nil, gone); err != nil {
		t.Errorf("a folder has gone, and that is no reason to end: %v", err)
	}

	if _, err := look(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is no such provider, and the error is %v", err)
	}
}
