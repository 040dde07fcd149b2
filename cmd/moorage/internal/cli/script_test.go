package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/network"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// alone are tests that may reach no network but the module proxy.
type alone struct{ m *testing.M }

// Run runs the tests.
func (a alone) Run() int { return network.Main(a.m.Run) }

func TestMain(m *testing.M) {
	testscript.Main(alone{m}, map[string]func(){
		"moorage": func() { os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"kubectl": kubectl,
	})
}

// TestScripts runs the scripts of testdata/script, one for each command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			// A PATH with moorage alone.
			programs := filepath.SplitList(e.Getenv("PATH"))[0]

			moorage := filepath.Join(programs, "alone", "moorage")
			if err := os.MkdirAll(filepath.Dir(moorage), 0o700); err != nil {
				return err
			}

			if err := os.Symlink(filepath.Join(programs, "moorage"), moorage); err != nil && !os.IsExist(err) {
				return err
			}

			e.Setenv("ALONE", filepath.Dir(moorage))

			// One build cache for all scripts.
			for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
				folder, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}

				e.Setenv(name, strings.TrimSpace(string(folder)))
			}

			for name := range network.Environment("", "") {
				e.Setenv(name, os.Getenv(name))
			}

			// git needs an author to commit.
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				e.Setenv("GIT_"+who+"_NAME", "Author")
				e.Setenv("GIT_"+who+"_EMAIL", "author@example.org")
			}

			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"subst": subst, "forget": forget, "remember": remember},
	})
}

// subst replaces a text, which must occur exactly once, in files.
func subst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: subst old new files")
	}

	for _, file := range args[2:] {
		text := ts.ReadFile(file)
		if strings.Count(text, args[0]) != 1 {
			ts.Fatalf("%q is %d times in %s", args[0], strings.Count(text, args[0]), file)
		}

		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(strings.Replace(text, args[0], args[1], 1)), 0o600))
	}
}

// forget removes files, from the base as well, as if an older template had not generated them.
func forget(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: forget files")
	}

	archive := txtar.Parse([]byte(ts.ReadFile(scaffold.Base)))
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return slices.Contains(args, f.Name) })
	ts.Check(os.WriteFile(ts.MkAbs(scaffold.Base), txtar.Format(archive), 0o600))

	for _, file := range args {
		ts.Check(os.Remove(ts.MkAbs(file)))
	}
}

// remember adds a file, to the base as well, as if an older template had generated it.
func remember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remember file content")
	}

	text := ts.ReadFile(args[1])
	archive := txtar.Parse([]byte(ts.ReadFile(scaffold.Base)))
	archive.Files = append(archive.Files, txtar.File{Name: args[0], Data: []byte(text)})
	ts.Check(os.WriteFile(ts.MkAbs(scaffold.Base), txtar.Format(archive), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
