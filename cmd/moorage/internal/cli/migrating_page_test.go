package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// migratingPage is the page whose steps are run.
const migratingPage = "../../../../docs/migrating.md"

// ranElsewhere are steps that TestMigrateProviders runs, for each origin.
var ranElsewhere = []string{"go mod tidy", "go vet ./...", "go test ./..."}

// TestMigratingPage runs the commands of the page, step by step, on a small provider and on objects that
// crossplane-runtime left in a cluster.
func TestMigratingPage(t *testing.T) {
	text, err := os.ReadFile(migratingPage)
	if err != nil {
		t.Fatal(err)
	}

	_, text2, _ := strings.Cut(string(text), "\n## Step by step\n")
	steps, _, _ := strings.Cut(text2, "\n## ")

	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}

	var script strings.Builder

	ran := 0

	for line := range strings.Lines(steps) {
		command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")

		switch {
		case !ok, slices.Contains(ranElsewhere, command):
			continue
		case command == "moorage migrate":
			command += " --checkout " + root
		case command == "moorage migrate --apply":
			command += " --dirty --checkout " + root
		case !strings.HasPrefix(command, "moorage migrate objects "):
			t.Errorf("nothing runs the step %q of the page", command)
		}

		ran++

		script.WriteString("exec " + command + "\n")
	}

	if ran < 5 {
		t.Errorf("%d steps of the page were found", ran)
	}

	script.WriteString("! grep krateoplatformops go.mod\ngrep krateo.io/external-name roles.example.org.json\n")

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.txtar"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	testscript.Run(t, testscript.Params{Dir: dir, Setup: func(e *testscript.Env) error {
		return populate(e.WorkDir)
	}})
}

// populate creates a provider, and the objects that the kubectl of the test knows.
func populate(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "migrate", "testdata", "krateo-v0.9"))); err != nil {
		return err
	}

	for name, text := range map[string]string{
		"roles.example.org.json": `{"items": [{"metadata": {"name": "reader", "namespace": "db", "resourceVersion": "7",
			"annotations": {"crossplane.io/external-name": "reader_1"},
			"finalizers": ["finalizer.managedresource.crossplane.io"]}}]}`,
		"providerconfigs.example.org.json": `{"items": [{"metadata": {"name": "default", "resourceVersion": "3",
			"finalizers": ["in-use.crossplane.io", "in-use.moorage.dev"]}}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}

	return nil
}
