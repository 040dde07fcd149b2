package migrate_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate"
)

// awkward are files whose lines a diff may get wrong.
func awkward() map[string]string {
	const runtime = "github.com/krateoplatformops/provider-runtime"

	code := "package p\n\nimport (\n\t\"fmt\"\n\n\t\"" + runtime + "/pkg/meta\"\n)\n\n"
	long := code + strings.Repeat("// Nothing happens here.\n", 40) + "var _ = meta.WasDeleted\n\n// See " + runtime +
		"/pkg/meta.\nfunc f() { fmt.Println() }\n"

	return map[string]string{
		"go.mod":       "module example.org/p\n\ngo 1.24.0\n\nrequire " + runtime + " v0.9.0\n",
		"long.go":      long,
		"unended.go":   strings.TrimSuffix(long, "\n"),
		"crlf.go":      strings.ReplaceAll(long, "\n", "\r\n"),
		"crlf_end.go":  strings.ReplaceAll(strings.TrimSuffix(long, "\n"), "\n", "\r\n"),
		"marked.go":    "\ufeff" + long,
		"one_line.go":  "package p; import _ \"" + runtime + "/pkg/meta\"",
		"a b/space.go": code + "var _, _ = fmt.Sprint, meta.WasDeleted\n",
	}
}

// TestDiffApplies: git apply makes of what the dry run prints what --apply writes, whatever a
// person reads after it.
func TestDiffApplies(t *testing.T) {
	providers := map[string]func(dir string) error{"Awkward": func(dir string) error {
		for name, text := range awkward() {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}

			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
		}

		return nil
	}}

	for _, origin := range []migrate.Origin{migrate.KrateoV07, migrate.KrateoV09, migrate.CrossplaneV1,
		migrate.CrossplaneV2} {
		providers[string(origin)] = func(dir string) error {
			return os.CopyFS(dir, os.DirFS(filepath.Join("testdata", string(origin))))
		}
	}

	created := false

	for name, write := range providers {
		t.Run(name, func(t *testing.T) {
			applied, patched := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "p")
			for _, dir := range []string{applied, patched} {
				if err := write(dir); err != nil {
					t.Fatal(err)
				}
			}

			plan, err := migrate.Make(applied, "", source(t))
			if err != nil {
				t.Fatal(err)
			}

			for _, f := range plan.Files {
				created = created || f.New
			}

			if err := migrate.Apply(applied, plan); err != nil {
				t.Fatal(err)
			}

			git(t, patched, "", "init", "-q")
			git(t, patched, plan.Diff()+"\n2 files would change.\n\nTo decide, 1:\n\n--- of these or +++ of those\n", "apply",
				"--whitespace=nowarn")

			if diff := cmp.Diff(tree(t, applied), tree(t, patched)); diff != "" {
				t.Errorf("-apply +git apply:\n%s", diff)
			}
		})
	}

	if !created {
		t.Error("no file is new")
	}
}

func git(t *testing.T, dir, input string, args ...string) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s\n%s", strings.Join(args, " "), err, out, input)
	}
}

// tree returns the texts of the files of a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()

	files := map[string]string{}

	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}

			return err
		}

		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return files
}
