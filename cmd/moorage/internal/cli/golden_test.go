package cli_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// golden is the example provider: generated from the templates, with the author's part added.
const golden = "../../../../examples/provider-nats"

// accepted lists the reviewed differences between the example and the templates: its program is in the folder of the
// module and has more than one command, and it uses NATS instead of a fake.
const accepted = "testdata/provider-nats.diff"

var update = flag.Bool("update", false,
	"accept how the example differs from the template: look at testdata/provider-nats.diff before you commit it")

// TestGoldenProject generates the template's part of the example again. Nothing of it may be out of date, and files of
// the template may differ only as accepted.
func TestGoldenProject(t *testing.T) {
	var out bytes.Buffer
	if code := cli.Main(t.Context(), []string{"diff", "--check", "--dir", golden}, nil, &out, &out); code != 0 {
		t.Errorf("exit code %d; in the example: moorage diff --apply\n%s", code, &out)
	}

	got := difference(t, golden)

	if *update {
		if err := os.WriteFile(accepted, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(accepted)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf(
			"somebody changed in the example what is the template's: change the template, and take it in by moorage diff "+
				"--apply. "+
				"What is the author's alone is accepted by go test ./internal/cli -run TestGoldenProject -update\n-%s, +the "+
				"example:\n%s", accepted, diff)
	}
}

// difference returns how a project differs from the output of the template, file by file.
func difference(t *testing.T, dir string) string {
	t.Helper()

	base, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(scaffold.Base)))
	if err != nil {
		t.Fatal(err)
	}

	files := scaffold.Unpack(base)
	if len(files) < 35 {
		t.Errorf("the template makes only %d files: that is no example of it", len(files))
	}

	var out strings.Builder

	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("what the template makes is not there: make it, or let moorage.json say that it is the author's own: %v",
				err)
		}

		// Positions in a file do not matter, the context lines do.
		out.WriteString(position.ReplaceAllString(udiff.Unified("template/"+name, "example/"+name, files[name], string(text)),
			"@@"))
	}

	return out.String()
}

// position matches the position of a hunk in a file.
var position = regexp.MustCompile(`(?m)^@@ .* @@$`)

// TestGoldenProjectDiffers changes the template's part of the example, and removes parts of it.
func TestGoldenProjectDiffers(t *testing.T) {
	dir := copied(t)

	differs := func(file string) {
		t.Helper()

		var out bytes.Buffer
		if code := cli.Main(t.Context(), []string{"diff", "--check", "--dir", dir}, nil, &out, &out); code != 1 ||
			!strings.Contains(out.String(), file) {
			t.Errorf("the example is behind the template, and the exit code is %d\n%s", code, &out)
		}
	}

	// As if the template had changed, and the example had been edited by hand.
	older(t, filepath.Join(dir, filepath.FromSlash(scaffold.Base)))
	differs("but that this is recorded")

	// And without that edit.
	older(t, filepath.Join(dir, "deploy", "base", "deployment.yaml"))
	differs("deploy/base/deployment.yaml:")
}

// copied returns a copy of the template's part of the example. Other files of its folder may change while its own
// tests run.
func copied(t *testing.T) (dir string) {
	t.Helper()

	base, err := os.ReadFile(filepath.Join(golden, filepath.FromSlash(scaffold.Base)))
	if err != nil {
		t.Fatal(err)
	}

	dir = t.TempDir()

	for _, name := range append(slices.Collect(maps.Keys(scaffold.Unpack(base))), scaffold.Base, scaffold.Record) {
		text, err := os.ReadFile(filepath.Join(golden, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}

		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// older replaces a file as if an older template had generated it.
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

// own returns the files that the record of the golden project lists as the author's alone, sorted, and those of them
// that the template would generate.
func own(t *testing.T) (listed, hidden []string) {
	t.Helper()

	record, err := os.ReadFile(filepath.Join(golden, scaffold.Record))
	if err != nil {
		t.Fatal(err)
	}

	project, err := scaffold.Read(record)
	if err != nil {
		t.Fatal(err)
	}

	listed = slices.Sorted(slices.Values(project.Own))

	made := func() (paths []string) {
		files, err := scaffold.Plan(scaffold.Input{After: project})
		if err != nil {
			t.Fatal(err)
		}

		for _, f := range files {
			paths = append(paths, f.Path)
		}

		return paths
	}
	some := made()
	project.Own = nil

	return listed, slices.DeleteFunc(made(), func(path string) bool { return slices.Contains(some, path) })
}

// TestGoldenProjectOwnsLittle checks that each file of the example that the template does not generate has a reason in
// its README, and bounds their number: such files cannot be compared with the template.
func TestGoldenProjectOwnsLittle(t *testing.T) {
	const most = 62 // files that the template would generate

	readme, err := os.ReadFile(filepath.Join(golden, "README.md"))
	if err != nil {
		t.Fatal(err)
	}

	_, table, _ := strings.Cut(string(readme), "| Files | Why they differ from the template |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")

	var reasoned []string

	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 || len(strings.Fields(cells[2])) < 4 {
			t.Fatalf("this is no row with files and a reason: %s", row)
		}

		for _, file := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			reasoned = append(reasoned, file[1])
		}
	}

	listed, hidden := own(t)

	slices.Sort(reasoned)

	if diff := cmp.Diff(listed, reasoned); diff != "" {
		t.Errorf("-%s, +README.md:\n%s", scaffold.Record, diff)
	}

	for _, pattern := range listed {
		if !slices.ContainsFunc(hidden, func(path string) bool {
			return path == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(path, pattern)
		}) {
			t.Errorf("the template makes no %s any more: take it out of %s", pattern, scaffold.Record)
		}
	}

	if len(hidden) > most {
		t.Errorf("%d files are the example's own and not the template's, more than %d:\n%s", len(hidden), most,
			strings.Join(hidden, "\n"))
	}

	t.Logf("the template would make %d more files", len(hidden))
}
