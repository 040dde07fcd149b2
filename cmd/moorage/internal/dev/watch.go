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

// A sight is what the files of a provider look like: each of its parts differs when one of
// them changed.
type sight struct {
	// sources are written by hand. Tests are, too, but are no part of a program.
	sources uint64

	// examples are those that are applied.
	examples uint64
}

// look returns what the session looks at: examples that it does not apply are nothing to it.
func (s *session) look() (sight, error) {
	seen, err := look(s.Dir)
	if !s.Examples {
		seen.examples = 0
	}

	return seen, err
}

// look looks at the files of a provider.
func look(dir string) (sight, error) {
	sources, examples := fnv.New64a(), fnv.New64a()
	err := filepath.WalkDir(dir, note(dir, sources, examples))

	return sight{sources.Sum64(), examples.Sum64()}, err
}

// made are the folders of a provider, at its top, in which nothing is written by hand.
func made() []string { return []string{"bin", "cluster", "package"} }

// note returns what writes down the files in a folder. What goes while it is looked at is
// missed by the next look.
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
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || filepath.Dir(path) == dir && slices.Contains(made(), d.Name())):
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

// exampleFolder is that of the examples, in the folder of a provider.
const exampleFolder = "examples"

// applied tells whether files of that name are applied: an editor hides its own.
func applied(name string) bool {
	return strings.HasSuffix(name, ".yaml") && !strings.HasPrefix(name, ".")
}

// source tells whether the go command reads files of that name when it makes a program.
func source(name string) bool {
	return name == "go.mod" || strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") &&
		!strings.HasSuffix(name, "_test.go") && name != "zz_generated.deepcopy.go"
}

// changed returns as soon as the files are not as they were, and stay so for one look:
// an editor may write several. It returns an error if ctx ends before.
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
