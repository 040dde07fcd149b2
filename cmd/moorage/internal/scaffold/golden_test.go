//go:build !race

// What these tests make is compiled, linted and tested by processes that are the same
// under the race detector, and of which it sees nothing.

package scaffold_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// generated makes a project in a folder that uses this repository, and what
// controller-gen makes of it.
func generated(t *testing.T, p scaffold.Project) (dir string) {
	t.Helper()

	checkout, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}

	look(t, filepath.Join(checkout, "pkg"), filepath.Join(checkout, "apis"))

	p.Moorage = scaffold.Source{Version: "v0.0.0", Checkout: checkout}
	dir = t.TempDir()

	judged, err := scaffold.Judge(dir, plan(t, nil, p))
	if err != nil {
		t.Fatal(err)
	}

	if err := scaffold.Apply(dir, judged, false); err != nil {
		t.Fatal(err)
	}

	run(t, dir, "make", "generate")

	return dir
}

// look stats the sources of the library: what a project is compiled with is unknown to
// the cache of test results, which would repeat yesterday's ok.
func look(t *testing.T, dirs ...string) {
	t.Helper()

	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				_, err = os.Stat(path)
			}

			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()

	if out, err := command(dir, name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// command returns a command with the flags that the Makefile has, so that nothing is
// compiled twice.
func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off", "MAKEFLAGS=", "MAKELEVEL=")

	return cmd
}

// lint runs the linters of a project, in the version that it pins, which is compiled once.
func lint(t *testing.T, dir string) {
	t.Helper()

	run(t, dir, "make", "lint", "GOLANGCI_LINT="+tool(t, filepath.Join(repository, "hack", "tools"), "golangci-lint"))
}

// TestEmptyProject compiles a provider without kinds, and finds all of it up to date.
func TestEmptyProject(t *testing.T) {
	dir := generated(t, dock())

	run(t, dir, "make", "vet", "verify")
	run(t, dir, "go", "test", "./internal/api")
}

// TestProject compiles and tests a provider that reaches its API by flags: the whole of
// it on a real API server, under its role.
func TestProject(t *testing.T) {
	dir := generated(t, with(t, dock(), kinds(true)...))

	run(t, dir, "make", "vet")
	run(t, dir, "go", "test", "./internal/systemtest", "-run", "^TestBerthBudget$")
}

// TestProjectWithProviderConfig runs all tests of a provider whose users say where the
// API is, then plants bugs, which they must find.
func TestProjectWithProviderConfig(t *testing.T) {
	p, err := with(t, dock(), kinds(false)...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir := generated(t, p)

	lint(t, dir)
	run(t, dir, "make", "verify", "test")

	for method, bug := range bugs() {
		t.Run(method, func(t *testing.T) { bug.isFound(t, dir) })
	}
}

// A bug is a line of a client and what is written instead.
type bug struct{ right, wrong string }

// bugs are some that authors make, one in each method.
func bugs() map[string]bug {
	return map[string]bug{
		"Observe": {"case external.IsNotFound(err):\n\t\treturn managed.ExternalObservation{}, nil", "case err != nil:\n\t\treturn managed.ExternalObservation{}, nil"},
		"Create":  {"_, err := c.api.CreateBerth(ctx, c.desired(mg))\n\n\treturn err", "_, _ = c.api.CreateBerth(ctx, c.desired(mg))\n\n\treturn nil"},
		"Update":  {"return c.api.UpdateBerth(ctx, c.desired(mg))", "return nil"},
		"Delete":  {"err := c.api.DeleteBerth(ctx, meta.GetExternalName(mg))", "err := c.api.DeleteBerth(ctx, meta.GetExternalName(mg)+\"-2\")"},
	}
}

// isFound fails unless the conformance test of the project does, with the bug in it.
func (b bug) isFound(t *testing.T, dir string) {
	t.Helper()

	client := filepath.Join(dir, "internal", "controller", "berth", "berth.go")

	text, err := os.ReadFile(client)
	if err != nil {
		t.Fatal(err)
	}

	if strings.Count(string(text), b.right) != 1 {
		t.Fatalf("the bug cannot be planted: this is not in the client, once:\n%s", b.right)
	}

	planted := filepath.Join(t.TempDir(), "berth.go")
	if err := os.WriteFile(planted, []byte(strings.Replace(string(text), b.right, b.wrong, 1)), 0o600); err != nil {
		t.Fatal(err)
	}

	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{client: planted}})
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}

	out, err := command(dir, "go", "test", "-overlay", file, "./internal/controller/berth", "-run", "^TestConformance$").CombinedOutput()

	switch {
	case err == nil:
		t.Errorf("the conformance test passes with this in the client:\n%s", b.wrong)
	case !strings.Contains(string(out), "--- FAIL: TestConformance/"):
		t.Errorf("what failed is no property of the client:\n%s", out)
	}
}
