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
	case scaffold.Named: // a failure that nobody hears of
		return append(out, bug{"Create", "_, err := c.api.CreateKIND(ctx, c.desired(mg))", `_, err := c.api.CreateKIND(ctx, c.desired(mg))
	if planted("Create") {
		return nil
	}`})
	case scaffold.Token: // a request that the API does not know again
		return append(out, bug{"Create", "made, err := c.api.CreateKIND(ctx, c.desired(mg), managed.CreationToken(ctx))", `token := managed.CreationToken(ctx)
	if planted("Create") {
		token = ""
	}

	made, err := c.api.CreateKIND(ctx, c.desired(mg), token)`})
	case scaffold.Findable: // nothing to search for, and a search that finds nothing
		return append(out, bug{"Create", "want.Token = managed.CreationToken(ctx)", `if !planted("Create") {
		want.Token = managed.CreationToken(ctx)
	}`}, bug{"RecoverCreation", "if err != nil || len(found) == 0 {", `if err != nil || len(found) == 0 || planted("RecoverCreation") {`})
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

// buggy are the tests of a project with bugs in its clients.
type buggy struct{ dir, programs string }

// What is planted, too: tests that print the metrics of a provider that has begun and has
// no objects, and those of one to which things happen.
const (
	exposed = "exposed_test.go"
	story   = "story_test.go"
)

// planted compiles the tests of each kind with all bugs in its client. The project stays
// as it is.
func planted(t *testing.T, dir string, p scaffold.Project) buggy {
	t.Helper()

	b := buggy{dir: dir, programs: t.TempDir()}
	replaced, args := map[string]string{}, []string{"test", "-c", "-o", b.programs, "-overlay", filepath.Join(b.programs, "overlay.json")}
	plant := func(path, text string) {
		t.Helper()

		planted := filepath.Join(b.programs, strings.ReplaceAll(path, "/", "-"))
		if err := os.WriteFile(planted, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		replaced[filepath.Join(dir, filepath.FromSlash(path))] = planted
	}

	for _, kind := range p.Kinds {
		lower := strings.ToLower(kind.Kind)
		folder := "internal/controller/" + lower
		path := folder + "/" + lower + ".go"

		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}

		client := string(text)
		for _, bug := range bugs(kind.Class) {
			client = bug.in(t, client, kind.Kind)
		}

		plant(path, client)
		plant(folder+"/planted.go", "package "+lower+"\n\nimport \"os\"\n\nfunc planted(method string) bool { return os.Getenv(\"PLANTED\") == method }\n")
		args = append(args, "./"+folder)
	}

	for _, name := range []string{exposed, story} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}

		plant("internal/controller/berth/"+name, string(text))
	}

	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(b.programs, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}

	run(t, dir, "go", args...)

	return b
}

// run runs tests of a kind with the bug in a method, until the first failure.
func (b buggy) run(kind scaffold.Kind, method, tests string) ([]byte, error) {
	lower := strings.ToLower(kind.Kind)
	cmd := command(filepath.Join(b.dir, "internal", "controller", lower), filepath.Join(b.programs, lower+".test"), "-test.run", tests, "-test.failfast")
	cmd.Env = append(cmd.Env, "PLANTED="+method)

	return cmd.CombinedOutput()
}

// metrics returns the series that a planted test prints.
func (b buggy) metrics(t *testing.T, test string) string {
	t.Helper()

	out, err := b.run(berth(), "none", "^"+test+"$")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return strings.Join(regexp.MustCompile(`(?m)^moorage_\w+{[^}]*} .*\n`).FindAllString(string(out), -1), "")
}
