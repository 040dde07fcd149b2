package migrate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// ours is the path of Moorage's module.
const ours = "github.com/moorage-dev/moorage"

// A File is one that changes.
type File struct {
	Path   string // below the provider's folder, with slashes
	Before string
	After  string
	New    bool
}

// A Decision is what a person has to decide or to do, and where.
type Decision struct {
	Path string
	Line int // in the file as it is after the migration
	What string
}

// String returns the decision as compilers tell errors.
func (d Decision) String() string { return fmt.Sprintf("%s:%d: %s", d.Path, d.Line, d.What) }

// A Plan is what a migration changes.
type Plan struct {
	Origin    Origin
	Files     []File     // sorted by path
	Decisions []Decision // sorted by path and line
}

// Make plans the changes for the provider in a folder to use the library. It reads files and runs "go mod edit -json",
// and writes nothing. An empty origin is detected. The error for a provider without anything to migrate is written for
// users.
func Make(dir string, origin Origin, library scaffold.Source) (Plan, error) {
	mod, err := readModule(dir)
	if err != nil {
		return Plan{}, err
	}

	if origin == "" {
		if origin, err = mod.origin(); err != nil {
			return Plan{}, err
		}
	}

	rules, ok := tables()[origin]
	if !ok {
		return Plan{}, fmt.Errorf("there is no origin %q", origin)
	}

	m := &migration{dir: dir, module: mod.Module.Path, rules: rules, plan: Plan{Origin: origin}}

	if err := m.walk(); err != nil {
		return Plan{}, err
	}

	m.leftovers()

	if err := m.requirements(mod, library); err != nil {
		return Plan{}, err
	}

	slices.SortFunc(m.plan.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(m.plan.Decisions, func(a, b Decision) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}

		return a.Line - b.Line
	})

	return m.plan, nil
}

// A migration is one under way.
type migration struct {
	dir    string
	module string // the provider's path
	rules  rules
	plan   Plan

	leftover bool // the provider needs a package of its own for what no runtime has any more
}

// Folders that hold nothing of the provider's own.
var foreignFolders = []string{".git", "vendor", "node_modules", "testdata"}

// walk migrates each file.
func (m *migration) walk() error {
	return filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, err := filepath.Rel(m.dir, path)
		if err != nil {
			return err
		}

		if !d.Type().IsRegular() {
			return m.irregular(filepath.ToSlash(name), path, d)
		}

		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		return m.file(filepath.ToSlash(name), string(text))
	})
}

// irregular looks at what is not a file: a folder, or a link.
func (m *migration) irregular(name, path string, d fs.DirEntry) error {
	switch {
	case d.IsDir() && slices.Contains(foreignFolders, d.Name()):
		return fs.SkipDir
	case d.IsDir():
		if other, err := m.another(name, path); err != nil {
			return err
		} else if other {
			return fs.SkipDir
		}
	case d.Type()&fs.ModeSymlink != 0:
		m.link(name, path)
	}

	return nil
}

// file migrates one file.
func (m *migration) file(name, text string) error {
	if !strings.HasSuffix(name, ".go") {
		m.other(name, text)

		return nil
	}

	after, notes, err := m.source(name, text)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", name, err)
	}

	m.add(name, text, after)

	for _, n := range notes {
		m.decide(name, n.line, n.what)
	}

	return nil
}

// add adds a file to the plan, if it changes.
func (m *migration) add(name, before, after string) {
	if before != after {
		m.plan.Files = append(m.plan.Files, File{Path: name, Before: before, After: after})
	}
}

// decide adds a decision to the plan.
func (m *migration) decide(name string, line int, what string) {
	m.plan.Decisions = append(m.plan.Decisions, Decision{Path: name, Line: line, What: what})
}

// Apply writes the files of a plan. It can be repeated after a failure: what is written
// already is written again.
func Apply(dir string, plan Plan) error {
	for _, f := range plan.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))

		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}

		mode := fs.FileMode(0o644)
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}

		if err := os.WriteFile(path, []byte(f.After), mode); err != nil {
			return err
		}
	}

	return nil
}
