//go:build !race

// What these tests make is compiled, linted and tested by processes that are the same
// under the race detector, and of which it sees nothing.

package scaffold_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

	p.Moorage = scaffold.Source{Version: "v0.0.0", Checkout: checkout}
	dir = t.TempDir()

	judged, err := scaffold.Judge(dir, plan(t, nil, p))
	if err != nil {
		t.Fatal(err)
	}

	if err := scaffold.Apply(dir, judged, false); err != nil {
		t.Fatal(err)
	}

	run(t, dir, "make", "generate", generator(t))

	return dir
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
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off", "MAKEFLAGS=",
		"MAKELEVEL=")

	return cmd
}

// generator names controller-gen to make, in the version that a project pins, which is
// linked once and not once for each.
func generator(t *testing.T) string {
	t.Helper()

	return "CONTROLLER_GEN=" + tool(t, filepath.Join(repository, "hack", "tools"), "controller-gen")
}

// unvetted runs the tests of a project without go vet, which would read all that they are linked of: make vet finds
// more.
const unvetted = "GOTEST=go test -vet=off -timeout 30m"

// TestEmptyProject compiles a provider without kinds, and finds all of it up to date.
func TestEmptyProject(t *testing.T) {
	dir := generated(t, cloud())

	run(t, dir, "make", "vet", "verify", generator(t))
	run(t, dir, "go", "test", "./internal/api")
}

// TestProject compiles a provider that reaches its API by flags, and runs all its tests, of
// units, conformance and budgets: kinds of every class, each of the scope that it does not
// have below. What its tests are linked of is most of what this costs.
func TestProject(t *testing.T) {
	dir := generated(t, with(t, cloud(), kinds(true)...))

	run(t, dir, "make", "vet", "test", unvetted)
	wrongExamples(t, dir)
}

// TestKindFlags compiles a provider whose kinds publish connection details, refer to each other, and have no stamp,
// and runs its tests. Two objects that wait for each other show a condition that names both.
func TestKindFlags(t *testing.T) {
	dir := generated(t, flagged(t, cloud()))
	added(t, dir, "cycle_test.go")

	run(t, dir, "make", "vet")
	run(t, dir, "go", "test", "-vet=off", "./internal/controller/...", "./internal/systemtest")
}

// TestRealServer runs all tests of a provider with a server in a process of its own, whose URL has a path. The author
// writes internal/testserver/server.go, the login of an application and another connection detail, and changes no test
// except sample_test.go.
func TestRealServer(t *testing.T) {
	p, err := with(t, cloud(),
		scaffold.Kind{Kind: "Role", Version: "v1alpha1", Class: scaffold.Named},
		scaffold.Kind{Kind: "User", Version: "v1alpha1", Class: scaffold.Named, ConnectionDetails: true, Password: true,
			RefersTo: []string{"Role"}},
	).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir := generated(t, p)
	standIn := filepath.Join(dir, "bin", "standin")
	written := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", "server", name))
		if err != nil {
			t.Fatal(err)
		}

		return string(text)
	}
	change := func(name string, change func(string) string) {
		name = filepath.Join(dir, filepath.FromSlash(name))

		text, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}

		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750),
			os.WriteFile(name, []byte(change(string(text))), 0o600)); err != nil {
			t.Fatal(err)
		}
	}

	change("cmd/standin/main.go", func(string) string { return written("main.go") })
	change("internal/testserver/server.go", func(string) string {
		return strings.Replace(written("server.go"), "STANDIN", standIn, 1)
	})
	change("internal/testserver/system.go", func(text string) string {
		return strings.Replace(text, "Within = 2 * time.Minute", "Within = 5 * time.Second", 1)
	})
	change("internal/controller/user/user.go", func(text string) string {
		return strings.Replace(text, `"username": []byte(`, `"role": []byte(found.Role), "username": []byte(`, 1)
	})
	change("internal/controller/user/sample_test.go", func(text string) string {
		text, _, _ = strings.Cut(text, "func logIn(")
		text = strings.Replace(text, `"username": []byte(`, `"role": []byte(fmt.Sprint(of["role"])), "username": []byte(`, 1)

		return strings.Replace(text, "\t\"errors\"\n\t\"fmt\"\n", "\t\"fmt\"\n\t\"io\"\n\t\"net/http\"\n\t\"strings\"\n", 1) +
			written("login.txt")
	})

	run(t, dir, "go", "build", "-o", standIn, "./cmd/standin")
	run(t, dir, "make", "vet")
	run(t, dir, "go", "test", "-vet=off", "./internal/controller/...", "./internal/systemtest")
}

// TestInterface compiles a provider whose client is an interface, with kinds of every class, and runs all its tests:
// without a ProviderConfig, and with one.
func TestInterface(t *testing.T) {
	p := cloud()
	p.Client = scaffold.Interface

	dir := generated(t, with(t, p, kinds(true)...))
	run(t, dir, "make", "vet", "test", unvetted)

	all, err := with(t, p, kinds(false)[:2]...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir = generated(t, all)
	added(t, dir, "connected_test.go")
	run(t, dir, "make", "vet", "verify", "test", generator(t), unvetted)
	validated(t, dir)
}

// validated lets the client of a project refuse URLs that are not of the external system, and runs the tests that write
// a URL. The author changes testserver.URL, and no test.
func validated(t *testing.T, dir string) {
	t.Helper()

	for name, change := range map[string][2]string{
		"internal/testserver/server.go": {`"tcp://" + address`, `"ldap://" + address + "/dc=example,dc=org"`},
		"internal/api/client.go": {"	if err := o.check(address); err != nil {\n",
			`	if !strings.HasPrefix(address, "ldap://") || !strings.HasSuffix(address, "/dc=example,dc=org") {
		return nil, errors.New("the address is none of a directory")
	}

	if err := o.check(address); err != nil {
`},
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))

		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		if strings.Count(string(text), change[0]) != 1 {
			t.Fatalf("%s has no %q", name, change[0])
		}

		text = []byte(strings.Replace(string(text), change[0], change[1], 1))
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	run(t, dir, "go", "test", "-vet=off", "./internal/api", "./internal/connect")
}

// TestInterfaceLinted lints a provider whose client is an interface, with kinds of every class and flag.
func TestInterfaceLinted(t *testing.T) {
	p := cloud()
	p.Client = scaffold.Interface

	all, err := flagged(t, with(t, p, kinds(false)...)).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	run(t, generated(t, all), "make", "lint",
		"GOLANGCI_LINT="+tool(t, filepath.Join(repository, "hack", "tools"), "golangci-lint"))
}

// flagged adds kinds with each flag, of which Role and Grant refer to each other: moorage diff --apply makes that of an
// edited record.
func flagged(t *testing.T, p scaffold.Project) scaffold.Project {
	t.Helper()

	p = with(t, p,
		scaffold.Kind{Kind: "Role", Version: "v1alpha1", Class: scaffold.Named, ConnectionDetails: true},
		scaffold.Kind{Kind: "User", Version: "v1alpha1", Class: scaffold.Named, ConnectionDetails: true, Password: true},
		scaffold.Kind{Kind: "Grant", Version: "v1alpha1", Class: scaffold.Named, RefersTo: []string{"Role"},
			WithoutStamp: true},
		scaffold.Kind{Kind: "Link", Version: "v1alpha1", Class: scaffold.Opaque, ConnectionDetails: true,
			Password: true, RefersTo: []string{"Role", "Grant"}, WithoutStamp: true},
	)

	role := slices.IndexFunc(p.Kinds, func(k scaffold.Kind) bool { return k.Kind == "Role" })
	p.Kinds[role].RefersTo = []string{"Grant"}

	return p
}

// wrongExamples writes a field that no kind has into each example: the project's tests find all.
func wrongExamples(t *testing.T, dir string) {
	t.Helper()

	files, err := filepath.Glob(filepath.Join(dir, "examples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	objects := 0

	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		objects += len(regexp.MustCompile("(?m)^kind: ").FindAll(text, -1))
		wrong := strings.NewReplacer("\nspec:\n", "\nspec:\n  unheardOf: true\n", "\nstringData:\n",
			"\nunheardOf: true\nstringData:\n").Replace(string(text))

		if err := os.WriteFile(path, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	out, err := command(dir, "go", "test", "-vet=off", "./internal/systemtest", "-run", "^TestExamples$").CombinedOutput()
	if found := strings.Count(string(out), "unheardOf"); err == nil || found != objects || objects < len(files) ||
		objects == 0 {
		t.Errorf("of %d examples that are wrong, the tests of the project find %d (%v):\n%s", objects, found, err, out)
	}
}

var update = flag.Bool("update", false, "write into testdata what a provider shows: look at it before you commit it")

// conformance is the test that finds bugs.
const conformance = "^TestConformance$"

// TestLinted lints a provider of kinds of every class. (That it gets its linters by itself is
// seen where the page write-a-provider is followed.)
func TestLinted(t *testing.T) {
	p, err := flagged(t, with(t, cloud(), kinds(false)...)).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	run(t, generated(t, p), "make", "lint",
		"GOLANGCI_LINT="+tool(t, filepath.Join(repository, "hack", "tools"), "golangci-lint"))
}

// TestProjectWithProviderConfig runs what the workflow of a provider does, whose users
// say where the API is, but for its linters. Then it plants bugs, which its tests must find.
// What the tests of each kind are linked of is most of what this costs: here are two kinds,
// one whose author chooses the name and one whose API does, the latter cluster-scoped, and the
// bugs are those of the former.
func TestProjectWithProviderConfig(t *testing.T) {
	worksAndFindsBugs(t, 1, kinds(false)[0], kinds(true)[2])
}

// TestEveryClassWithProviderConfig does the same with kinds of every class and the bugs of each.
func TestEveryClassWithProviderConfig(t *testing.T) {
	all := kinds(false)

	worksAndFindsBugs(t, len(all), all...)
}

// worksAndFindsBugs makes a provider of these kinds, whose users say where the API is, and
// runs its tests without bugs and with those of the first so many kinds.
func worksAndFindsBugs(t *testing.T, withBugs int, kinds ...scaffold.Kind) {
	t.Helper()

	p, err := with(t, cloud(), kinds...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir := generated(t, p)
	added(t, dir, "connected_test.go")

	// TestProject lets Go vet the tests, which reads all that they are linked of once more.
	run(t, dir, "make", "verify", "test", generator(t), unvetted)
	wrongExamples(t, dir)

	for _, kind := range p.Kinds[:withBugs] {
		t.Run(kind.Kind, func(t *testing.T) {
			tests := planted(t, dir, kind)
			if kind.Kind == bucket().Kind {
				shown(t, tests)
			} else {
				isRight(t, tests)
			}

			findsBugs(t, tests)
		})
	}
}

// added adds a test of testdata to the system tests of a project.
func added(t *testing.T, dir, name string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "internal", "systemtest", name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// isRight runs the conformance test of a kind with the bugs in its client, but none that does anything. What shown
// compares also needs a client that is right.
func isRight(t *testing.T, tests buggy) {
	t.Helper()

	if out, err := tests.run("none", conformance); err != nil {
		t.Fatalf("nothing is wrong with the client, and its conformance test fails: %v\n%s", err, out)
	}
}

// shown compares the metrics of a provider with what testdata holds.
func shown(t *testing.T, tests buggy) {
	t.Helper()

	for file, test := range map[string]string{"metrics.txt": "TestExposed", "story.txt": "TestStory"} {
		file = filepath.Join("testdata", file)
		got := tests.metrics(t, test)

		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s is not what a provider shows; with -update it becomes so: -there, +shown:\n%s", file, diff)
		}
	}
}

// findsBugs runs the conformance test of a kind once with each bug.
func findsBugs(t *testing.T, tests buggy) {
	t.Helper()

	for _, bug := range bugs(tests.kind.Class) {
		t.Run(bug.method, func(t *testing.T) {
			switch out, err := tests.run(bug.method, conformance); {
			case err == nil:
				t.Errorf("the conformance test passes with this in the client:\n%s", bug.wrong)
			case !strings.Contains(string(out), "--- FAIL: TestConformance/"):
				t.Errorf("what failed is no property of the client: %v\n%s", err, out)
			}
		})
	}
}
