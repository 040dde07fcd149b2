package dev

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A sight is a checksum of each part of a provider's files.
type sight struct {
	// sources are the handwritten files of the programs, without tests.
	sources uint64

	// examples are the applied ones.
	examples uint64
}

// look returns the sight of the session: examples count only if it applies them.
func (s *session) look() (sight, error) {
	seen, err := look(s.Dir)
	if !s.Examples {
		seen.examples = 0
	}

	return seen, err
}

// look reads the files of a provider.
func look(dir string) (sight, error) {
	sources, examples := fnv.New64a(), fnv.New64a()
	err := filepath.WalkDir(dir, note(dir, sources, examples))

	return sight{sources.Sum64(), examples.Sum64()}, err
}

// made returns the generated folders at the top of a provider.
func made() []string { return []string{"bin", "cluster", "package"} }

// note returns a function that adds the files of a folder to a checksum. Files that vanish meanwhile are skipped.
func note(dir string, sources, examples io.Writer) fs.WalkDirFunc {
	return func(path string, d fs.DirEntry, err error) error {
		to := sources

		switch {
		case errors.Is(err, fs.ErrNotExist) && path != dir:
			return nil
		case err != nil:
			return err
		case path == dir:
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || filepath.Dir(path) == dir &&
			slices.Contains(made(), d.Name())):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case filepath.Dir(path) == filepath.Join(dir, exampleFolder) && applied(d.Name()):
			to = examples
		case !source(d.Name()):
			return nil
		}

		info, err := d.Info()
		if err == nil {
			fmt.Fprintf(to, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}

		return nil
	}
}

// exampleFolder is the folder of the examples in a provider.
const exampleFolder = "examples"

// applied reports whether files of that name are applied: editors use hidden files.
func applied(name string) bool {
	return strings.HasSuffix(name, ".yaml") && !strings.HasPrefix(name, ".")
}

// source reports whether the go command reads files of that name in a build.
func source(name string) bool {
	return name == "go.mod" || strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") &&
		!strings.HasPrefix(name, "_") &&
		!strings.HasSuffix(name, "_test.go") && name != "zz_generated.deepcopy.go"
}

// changed returns as soon as the files have changed and are the same in two checks: an editor may write several. It
// returns an error if ctx ends before.
func changed(ctx context.Context, look func() (sight, error), was sight, every time.Duration) error {
	last := was

	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}

		now, err := look()
		if err != nil {
			return err
		}

		if now != was && now == last {
			return nil
		}

		last = now
	}
}
