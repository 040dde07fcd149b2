package migrate_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/network"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

var update = flag.Bool("update", false,
	"accept what a migration changes in the providers below testdata: look at the *.golden files before you commit them")

// checkout is the root of this repository.
const checkout = "../../../.."

// TestMigrateProviders migrates a small provider of each origin, carries out the reported decisions and nothing else,
// compiles and vets it, and runs its own tests.
func TestMigrateProviders(t *testing.T) {
	for _, origin := range []migrate.Origin{migrate.KrateoV07, migrate.KrateoV09, migrate.CrossplaneV1,
		migrate.CrossplaneV2} {
		t.Run(string(origin), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "provider")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", string(origin)))); err != nil {
				t.Fatal(err)
			}

			plan, err := migrate.Make(dir, "", source(t))
			if err != nil {
				t.Fatal(err)
			}

			if plan.Origin != origin {
				t.Errorf("the origin is found out to be %s", plan.Origin)
			}

			golden(t, filepath.Join("testdata", string(origin)+".golden"), reported(plan))

			if err := migrate.Apply(dir, plan); err != nil {
				t.Fatal(err)
			}

			byHand(t, dir, filepath.Join("testdata", string(origin)+".hand"), plan.Decisions)
			settled(t, dir)
			passes(t, dir)
		})
	}
}

// TestMigrateFolders has what else is in the folder of a provider: nothing that names the
// runtime is passed over in silence.
func TestMigrateFolders(t *testing.T) {
	dir := t.TempDir()

	const runtime = "github.com/krateoplatformops/provider-runtime"

	code := "package p\n\nimport _ \"" + runtime + "/pkg/meta\"\n"

	for name, text := range map[string]string{
		"go.mod":                "module example.org/p\n\ngo 1.24.0\n\nrequire " + runtime + " v0.9.0\n",
		"go.work":               "go 1.24.0\n\ntoolchain go1.24.1\n\nuse .\n",
		"a.go":                  code,
		"testdata/shared.go":    code,
		"hack/gen/go.mod":       "module example.org/p/hack/gen\n\ngo 1.24.0\n\nrequire " + runtime + " v0.7.0\n",
		"hack/gen/main.go":      code,
		"hack/uses/go.mod":      "module example.org/uses\n\nrequire example.org/p v0.0.0\n",
		"hack/unrelated/go.mod": "module example.org/unrelated\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for name, to := range map[string]string{"b.go": "a.go", "c.go": "testdata/shared.go", "broken.go": "nothing"} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	plan, err := migrate.Make(dir, "", source(t))
	if err != nil {
		t.Fatal(err)
	}

	var files, reported []string

	for _, f := range plan.Files {
		files = append(files, f.Path)

		if want := "go 1.26.0\n\nuse .\n"; f.Path == "go.work" && f.After != want {
			t.Errorf("go.work: %q, want %q", f.After, want)
		}
	}

	for _, d := range plan.Decisions {
		reported = append(reported, d.String())
	}

	if want := []string{"a.go", "go.mod", "go.work"}; !slices.Equal(files, want) {
		t.Errorf("changes %v, want %v", files, want)
	}

	want := []string{
		"c.go:1: is a symbolic link to testdata/shared.go, which is not rewritten and names " + runtime +
			": rewrite that file",
		"hack/gen/go.mod:1: is another module, and is not rewritten: run moorage migrate --dir for its folder as well",
		"hack/uses/go.mod:1: is another module, and is not rewritten: run moorage migrate --dir for its folder as well, or " +
			"raise its versions if it uses no runtime itself",
	}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func source(t *testing.T) scaffold.Source {
	t.Helper()

	dir, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}

	return scaffold.Source{Version: "v0.0.0", Checkout: dir}
}

// reported is the output of a dry run, without the path of the checkout.
func reported(plan migrate.Plan) string {
	var out strings.Builder

	out.WriteString(plan.Diff())
	out.WriteString("\nTo decide:\n\n")

	for _, d := range plan.Decisions {
		fmt.Fprintln(&out, d)
	}

	dir, _ := filepath.Abs(checkout)

	return strings.ReplaceAll(out.String(), dir, "CHECKOUT")
}

func golden(t *testing.T, path, got string) {
	t.Helper()

	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// byHand makes the changes of an archive, whose files have texts and what takes their place,
// separated by a line of dashes; each text has to begin at a line that the tool listed.
func byHand(t *testing.T, dir, path string, listed []migrate.Decision) {
	t.Helper()

	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return
	} else if err != nil {
		t.Fatal(err)
	}

	before := map[string]string{} // lines are those of the files as the tool left them

	for _, change := range txtar.Parse(text).Files {
		old, replacement, ok := strings.Cut(string(change.Data), "----\n")
		if !ok {
			t.Fatalf("%s: %s has no line of dashes", path, change.Name)
		}

		file := filepath.Join(dir, filepath.FromSlash(change.Name))

		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		if before[change.Name] == "" {
			before[change.Name] = string(now)
		}

		at := strings.Index(before[change.Name], old)
		if at < 0 || strings.Count(string(now), old) != 1 {
			t.Errorf("%s: this is not once in %s:\n%s", path, change.Name, old)

			continue
		}

		if strings.HasPrefix(strings.TrimSpace(old), `"`) && replacement == "" {
			replacement = "" // an import that nothing uses any more
		} else if line := strings.Count(before[change.Name][:at], "\n") +
			1; !slices.ContainsFunc(listed, func(d migrate.Decision) bool { return d.Path == change.Name && d.Line == line }) {
			t.Errorf("%s: %s:%d is changed by hand, and the tool did not list it", path, change.Name, line)
		}

		if err := os.WriteFile(file, []byte(strings.Replace(string(now), old, replacement, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// settled gives the provider the sums of this repository, which "go mod tidy" would fetch.
func settled(t *testing.T, dir string) {
	t.Helper()

	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
}

// passes runs what the page says, offline: every module is there already. What go test has Go vet is a part of what
// go vet has found, with other settings: all that is linked would be read once more.
func passes(t *testing.T, dir string) {
	t.Helper()

	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}

		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "krateoplatformops/") || strings.Contains(string(text), "crossplane/crossplane") {
			t.Errorf("%s still names the runtime before", path)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"vet", "-mod=mod", "./..."}, {"test", "-vet=off", "-mod=mod", "./..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off",
			"GOTOOLCHAIN=local")

		for name, value := range network.Environment("", "off") {
			cmd.Env = append(cmd.Env, name+"="+value)
		}

		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
