//go:build !race

// As with golden_test.go, what runs here are other programs.

package scaffold_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// A bug is one that authors make: what is right in a method, and what is written instead.
// KIND stands for the kind.
type bug struct{ method, right, wrong string }

// bugs returns one for each method of a client. Each does something only when it is asked
// for, so that a client is compiled once with all of them.
func bugs(class scaffold.Class) []bug {
	out := []bug{
		{"Observe", "case external.IsNotFound(err):", `case external.IsNotFound(err), err != nil && planted("Observe"):`},
		{"Update", "return c.api.UpdateKIND(ctx, c.desired(mg))", `if planted("Update") {
		return nil
	}

	return c.api.UpdateKIND(ctx, c.desired(mg))`},
		{"Delete", "err := c.api.DeleteKIND(ctx, meta.GetExternalName(mg))", `name := meta.GetExternalName(mg)
	if planted("Delete") {
		name += "-2"
	}

	err := c.api.DeleteKIND(ctx, name)`},
	}

	switch class {
	case scaffold.Named: // a dropped error
		return append(out, bug{"Create", "_, err := c.api.CreateKIND(ctx, c.desired(mg))",
			`_, err := c.api.CreateKIND(ctx, c.desired(mg))
	if planted("Create") {
		return nil
	}`})
	case scaffold.Token: // a request that the API does not know again
		return append(out, bug{"Create", "made, err := c.api.CreateKIND(ctx, c.desired(mg), managed.CreationToken(ctx))",
			`token := managed.CreationToken(ctx)
	if planted("Create") {
		token = ""
	}

	made, err := c.api.CreateKIND(ctx, c.desired(mg), token)`})
	case scaffold.Findable: // nothing to search for, and a search that finds nothing
		return append(out, bug{"Create", "want.Token = managed.CreationToken(ctx)", `if !planted("Create") {
		want.Token = managed.CreationToken(ctx)
	}`}, bug{"RecoverCreation", "if err != nil || len(found) == 0 {",
			`if err != nil || len(found) == 0 || planted("RecoverCreation") {`})
	default: // a name that is forgotten
		return append(out, bug{"Create", "meta.SetExternalName(mg, made.ID)", `if !planted("Create") {
		meta.SetExternalName(mg, made.ID)
	}`})
	}
}

// in returns a client with the bug in it.
func (b bug) in(t *testing.T, client, kind string) string {
	t.Helper()

	right, wrong := strings.ReplaceAll(b.right, "KIND", kind), strings.ReplaceAll(b.wrong, "KIND", kind)
	if strings.Count(client, right) != 1 {
		t.Fatalf("the bug cannot be planted: this is not in the client of %s, once:\n%s", kind, right)
	}

	return strings.Replace(client, right, wrong, 1)
}

// buggy are the tests of a kind of a project, with bugs in its client.
type buggy struct {
	kind    scaffold.Kind
	folder  string // of the kind
	program string
}

// What is planted, too: tests that print the metrics of a provider that has begun and has
// no objects, and those of one to which things happen.
const (
	exposed = "exposed_test.go"
	story   = "story_test.go"
)

// planted compiles the tests of a kind with all bugs in its client. The project stays
// as it is.
func planted(t *testing.T, dir string, kind scaffold.Kind) buggy {
	t.Helper()

	lower := strings.ToLower(kind.Kind)
	folder, programs := filepath.Join(dir, "internal", "controller", lower), t.TempDir()
	replaced := map[string]string{}
	plant := func(name, text string) {
		t.Helper()

		planted := filepath.Join(programs, name)
		if err := os.WriteFile(planted, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		replaced[filepath.Join(folder, name)] = planted
	}

	text, err := os.ReadFile(filepath.Join(folder, lower+".go"))
	if err != nil {
		t.Fatal(err)
	}

	client := string(text)
	for _, bug := range bugs(kind.Class) {
		client = bug.in(t, client, kind.Kind)
	}

	plant(lower+".go", client)
	plant("planted.go", "package "+lower+
		"\n\nimport \"os\"\n\nfunc planted(method string) bool { return os.Getenv(\"PLANTED\") == method }\n")

	if kind.Kind == bucket().Kind {
		for _, name := range []string{exposed, story} {
			text, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}

			plant(name, string(text))
		}
	}

	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(programs, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}

	b := buggy{kind: kind, folder: folder, program: filepath.Join(programs, lower+".test")}
	// It is not debugged: without debug information it links in half the time.
	run(t, dir, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", b.program, "-overlay",
		filepath.Join(programs, "overlay.json"), "./internal/controller/"+lower)

	return b
}

// run runs tests with the bug in a method, until the first failure.
func (b buggy) run(method, tests string) ([]byte, error) {
	cmd := command(b.folder, b.program, "-test.run", tests, "-test.failfast")
	cmd.Env = append(cmd.Env, "PLANTED="+method)

	return cmd.CombinedOutput()
}

// metrics returns the series that a planted test prints.
func (b buggy) metrics(t *testing.T, test string) string {
	t.Helper()

	out, err := b.run("none", "^"+test+"$")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return strings.Join(regexp.MustCompile(`(?m)^moorage_\w+{[^}]*} .*\n`).FindAllString(string(out), -1), "")
}
