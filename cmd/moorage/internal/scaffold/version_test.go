package scaffold_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

const repository = "../../../.."

type requirement struct {
	Path, Version string
	Indirect      bool
}

// requirements returns what a go.mod requires.
func requirements(t *testing.T, file string) []requirement {
	t.Helper()

	out, err := exec.Command("go", "mod", "edit", "-json", file).Output()
	if err != nil {
		t.Fatal(err)
	}

	var mod struct{ Require []requirement }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}

	return mod.Require
}

// made returns a file of a new project.
func made(t *testing.T, path string) []byte {
	t.Helper()

	return content(t, cloud(), path)
}

// content returns a file of a project.
func content(t *testing.T, p scaffold.Project, path string) []byte {
	t.Helper()

	for _, f := range plan(t, nil, p) {
		if f.Path == path {
			return f.Content
		}
	}

	t.Fatalf("the project has no file %s", path)

	return nil
}

// TestVersions holds the requirements of a new project to those of the library and of the
// example, so that what was compiled for one serves the others, and to a number that an
// author can look after.
func TestVersions(t *testing.T) {
	const (
		most    = 8
		library = "github.com/moorage-dev/moorage"
	)

	ours := map[string]map[string]string{}

	for _, dir := range []string{".", "examples/provider-nats"} {
		ours[dir] = map[string]string{}
		for _, r := range requirements(t, filepath.Join(repository, dir, "go.mod")) {
			ours[dir][r.Path] = r.Version
		}

		delete(ours[dir], library) // which is here
	}

	file := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(file, made(t, "go.mod"), 0o600); err != nil {
		t.Fatal(err)
	}

	direct := 0

	for _, r := range requirements(t, file) {
		known := r.Path == library

		for dir, versions := range ours {
			version, requires := versions[r.Path]
			if requires && version != r.Version && (dir == "." || !r.Indirect) { // NATS needs newer ones of what others need
				t.Errorf("a new project requires %s %s, and %s/go.mod %s", r.Path, r.Version, dir, version)
			}

			known = known || requires
		}

		if !known {
			t.Errorf("a new project requires %s %s, and nobody here does", r.Path, r.Version)
		}

		if !r.Indirect {
			direct++
		}
	}

	if direct > most {
		t.Errorf("a new project has %d direct requirements, more than %d", direct, most)
	}
}

// TestCopies holds what cannot be embedded from where it is to what it is a copy of.
func TestCopies(t *testing.T) {
	const path = "hack/tools/go.mod"

	for _, name := range []string{"go.sum", "hack/tools/go.sum", path} {
		want, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}

		got := string(made(t, name))
		if name == path {
			got = strings.Replace(got, cloud().Module, "github.com/moorage-dev/moorage", 1)
		}

		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("copy %s of this repository to internal/scaffold/templates/project again: -there, +here:\n%s", name, diff)
		}
	}
}
