package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// golden is the provider that is the template and its author's part.
const golden = "../../../../examples/provider-nats"

// both are the files of it that the template made and the author changed in places: the
// program is in the folder of the module, and has more than one command.
var both = []string{
	".ko.yaml", "Dockerfile", "deploy/base/deployment.yaml",
	"deploy/chart/Chart.yaml", "deploy/chart/templates/deployment.yaml", "deploy/chart/values.yaml",
}

// TestGoldenProject makes the template's part of the example again: nothing of it may be
// behind, and what is the template's alone is as it makes it.
func TestGoldenProject(t *testing.T) {
	var out bytes.Buffer
	if code := cli.Main(t.Context(), []string{"diff", "--check", "--dir", golden}, nil, &out, &out); code != 0 {
		t.Errorf("exit code %d; in the example: moorage diff --apply\n%s", code, &out)
	}

	base, err := os.ReadFile(filepath.Join(golden, filepath.FromSlash(scaffold.Base)))
	if err != nil {
		t.Fatal(err)
	}

	files := scaffold.Unpack(base)
	if len(files) < 20 {
		t.Errorf("the template makes only %d files: that is no example of it", len(files))
	}

	for name, made := range files {
		text, err := os.ReadFile(filepath.Join(golden, filepath.FromSlash(name)))

		switch {
		case err != nil:
			t.Errorf("what the template makes is not there: make it, or let moorage.json say that it is the author's own: %v", err)
		case slices.Contains(both, name) && string(text) == made:
			t.Errorf("%s is the template's alone, and the test does not know it", name)
		case !slices.Contains(both, name) && string(text) != made:
			t.Errorf("%s is the template's, and somebody changed it in the example: change the template, and take it in by moorage diff --apply", name)
		}
	}
}

// TestGoldenProjectIsHeldToTheTemplate changes the template's part of the example, and
// takes some of it away.
func TestGoldenProjectIsHeldToTheTemplate(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}

	differs := func(file string) {
		t.Helper()

		var out bytes.Buffer
		if code := cli.Main(t.Context(), []string{"diff", "--check", "--dir", dir}, nil, &out, &out); code != 1 || !strings.Contains(out.String(), file) {
			t.Errorf("the example is behind the template, and the exit code is %d\n%s", code, &out)
		}
	}

	// As if the template had changed since, which the example has taken in by hand alone.
	older(t, filepath.Join(dir, filepath.FromSlash(scaffold.Base)))
	differs("but that this is recorded")

	// And not even so.
	older(t, filepath.Join(dir, "deploy", "base", "deployment.yaml"))
	differs("deploy/base/deployment.yaml:")
}

// older makes a file as if an older template had made it.
func older(t *testing.T, file string) {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	was := strings.Replace(string(text), "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", 1)
	if err := os.WriteFile(file, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
}
