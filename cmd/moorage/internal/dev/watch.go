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

// look returns something that differs when a source of the provider changed: one that is
// written by hand, which tests are, but are no part of the program.
func look(dir string) (uint64, error) {
	sum := fnv.New64a()
	err := filepath.WalkDir(dir, note(dir, sum))

	return sum.Sum64(), err
}

// made are the folders of a provider, at its top, in which nothing is written by hand.
func made() []string { return []string{"bin", "cluster", "package"} }

// note returns what writes down the sources in a folder. What goes while it is looked at is
// missed by the next look.
func note(dir string, to io.Writer) fs.WalkDirFunc {
	return func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != dir:
			return nil
		case err != nil:
			return err
		case path == dir:
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || filepath.Dir(path) == dir && slices.Contains(made(), d.Name())):
			return fs.SkipDir
		case d.IsDir() || !source(d.Name()):
			return nil
		}

		info, err := d.Info()
		if err == nil {
			fmt.Fprintf(to, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}

		return nil
	}
}

// source tells whether the go command reads files of that name when it makes a program.
func source(name string) bool {
	return name == "go.mod" || strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") &&
		!strings.HasSuffix(name, "_test.go") && name != "zz_generated.deepcopy.go"
}

// changed returns as soon as the sources are not as they were, and stay so for one look:
// an editor may write several files. It returns an error if ctx ends before.
func changed(ctx context.Context, dir string, was uint64, every time.Duration) error {
	last := was

	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}

		now, err := look(dir)
		if err != nil {
			return err
		}

		if now != was && now == last {
			return nil
		}

		last = now
	}
}
