package dev

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// look returns something that differs when a source of the provider changed: one that is
// written by hand, which tests are, but are no part of the program.
func look(dir string) (uint64, error) {
	sum := fnv.New64a()

	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "cluster" || d.Name() == "package"):
			return fs.SkipDir
		case d.IsDir() || !source(d.Name()):
			return nil
		}

		info, err := d.Info()
		if err != nil {
			return nil // it has just gone, which the next look tells
		}

		fmt.Fprintf(sum, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())

		return nil
	})

	return sum.Sum64(), err
}

func source(name string) bool {
	return name == "go.mod" || strings.HasSuffix(name, ".go") &&
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
