package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository is the root, seen from this folder.
const repository = "../.."

// version was never released.
const version = "v0.987.6-test"

// A proxy is a folder that serves as a module proxy.
type proxy struct {
	*testing.T
	dir string
}

// add serves a module of the repository at the version, with that go.mod.
func (p proxy) add(m module, mod []byte) {
	p.Helper()
	at := filepath.Join(p.dir, filepath.FromSlash(m.path()), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		p.Fatal(err)
	}
	for ending, text := range map[string][]byte{
		".info": []byte(`{"Version":"` + version + `"}`), ".mod": mod, ".zip": p.zip(m, mod),
	} {
		if err := os.WriteFile(filepath.Join(at, version+ending), text, 0o600); err != nil {
			p.Fatal(err)
		}
	}
}

// zip returns the files of a module as a proxy serves them: without those of the modules in
// its folders.
func (p proxy) zip(m module, mod []byte) []byte {
	p.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	top := filepath.Join(repository, filepath.FromSlash(m.folder))
	err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		if err := skipped(d, err); err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != top {
				return filepath.SkipDir
			}

			return nil
		}
		name, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		text := mod
		if name != "go.mod" {
			if text, err = os.ReadFile(file); err != nil {
				return err
			}
		}
		f, err := w.Create(m.path() + "@" + version + "/" + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		_, err = f.Write(text)

		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	if err := w.Close(); err != nil {
		p.Fatal(err)
	}

	return out.Bytes()
}

// serve returns the URL of a proxy with the modules that a release tags first, natskv with the
// go.mod that is given.
func serve(t *testing.T, natskv []byte) string {
	t.Helper()
	p := proxy{t, t.TempDir()}
	p.add(released[0], read(t, "go.mod"))
	p.add(released[1], natskv)

	return "file://" + filepath.ToSlash(p.dir)
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}

	return text
}

// program is a program of another module.
const program = `package main

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
)

type link struct {
	Metadata store.Metadata ` + "`json:\"metadata\"`" + `
}

func (l *link) GetMetadata() *store.Metadata { return &l.Metadata }

func open(ctx context.Context, js jetstream.JetStream) (store.Store[*link], error) {
	return natskv.New[*link](ctx, js, "links", natskv.Options{Kind: "link"})
}

func main() { fmt.Println(open != nil) }
`

// A consumer is a module outside the repository that requires natskv, and nothing else.
type consumer struct {
	*testing.T
	dir string
	env []string
}

func newConsumer(t *testing.T, modules, more string) consumer {
	t.Helper()
	c := consumer{T: t, dir: t.TempDir()}
	mod := "module example.com/consumer\n\ngo 1.26.0\n\nrequire " + released[1].path() + " " + version + "\n" + more
	for name, text := range map[string]string{"go.mod": mod, "main.go": program} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A cache of its own: in the usual one the version would stay, and be that of an earlier run.
	// Modules of other repositories come from the usual one, which has them: see download.
	cache := strings.TrimSpace(output(t, exec.Command("go", "env", "GOMODCACHE")))
	c.env = os.Environ()
	for name, value := range map[string]string{
		"GOPROXY":    modules + ",file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")),
		"GOMODCACHE": filepath.Join(t.TempDir(), "modules"),
		"GOFLAGS":    "-mod=mod -modcacherw -trimpath -buildvcs=false",
		"GOSUMDB":    "off", "GOVCS": "*:off", "GOWORK": "off", "GOTOOLCHAIN": "local",
	} {
		c.env = append(c.env, name+"="+value)
	}

	return c
}

func (c consumer) run(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()

	return string(out), err
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}

	return string(out)
}

// download fills the usual module cache with the modules that natskv needs, as a build of
// natskv does.
func download(t *testing.T) {
	t.Helper()
	cmd := exec.Command("go", "-C", filepath.Join(repository, filepath.FromSlash(released[1].folder)), "list",
		"-deps", ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// TestNatskvIsRequiredFromOutside checks that, with the tags of a release, a program outside
// the repository can require natskv, gets the root module with it, and compiles without a
// replace.
func TestNatskvIsRequiredFromOutside(t *testing.T) {
	download(t)
	c := newConsumer(t, serve(t, pin(read(t, "pkg/store/natskv/go.mod"), version, released[1].uses...)), "")
	if out, err := c.run("build", "-o", os.DevNull, "."); err != nil {
		t.Fatalf("it does not compile: %v\n%s", err, out)
	}
	for _, m := range released[:2] {
		out, err := c.run("list", "-m", "-f", "{{.Version}}{{with .Replace}} replaced{{end}}", m.path())
		if err != nil || strings.TrimSpace(out) != version {
			t.Errorf("%s is required at %q, %v", m.path(), out, err)
		}
	}
}

// TestWithoutPreparation checks that a natskv whose go.mod names an unreleased version of the
// root module cannot be required, whatever its replace says; a consumer's own replace helps.
func TestWithoutPreparation(t *testing.T) {
	download(t)
	modules := serve(t, pin(read(t, "pkg/store/natskv/go.mod"), "v0.0.0", root))
	out, err := newConsumer(t, modules, "").run("build", "-o", os.DevNull, ".")
	if err == nil || !strings.Contains(out, root+"@v0.0.0") {
		t.Errorf("want an error that names %s@v0.0.0, got %v\n%s", root, err, out)
	}
	c := newConsumer(t, modules, "\nreplace "+root+" v0.0.0 => "+root+" "+version+"\n")
	if out, err := c.run("build", "-o", os.DevNull, "."); err != nil {
		t.Errorf("with a replace of the consumer: %v\n%s", err, out)
	}
}

// TestPrepare checks that the command writes the version into the go.mod files that need it,
// changes no other file, and that Go accepts the result.
func TestPrepare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repository")
	for _, file := range goMods(t, repository) {
		write(t, filepath.Join(dir, file), read(t, file))
	}
	if err := run([]string{"-check", version}, dir, os.Stderr); err == nil {
		t.Error("the check passes before the version is written")
	}
	var said bytes.Buffer
	if err := run([]string{version}, dir, &said); err != nil {
		t.Fatal(err)
	}
	want := []string{"examples/edge/go.mod", "examples/store-controller/go.mod", "pkg/store/natskv/go.mod"}
	var changed []string
	for _, file := range goMods(t, dir) {
		after, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(after, read(t, file)) {
			changed = append(changed, file)
		}
		if slices.Contains(want, file) && !strings.Contains(string(after), root+" "+version) {
			t.Errorf("%s does not require %s %s:\n%s", file, root, version, after)
		}
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff("git tag "+version+"\n  git tag pkg/store/natskv/"+version,
		said.String()[strings.Index(said.String(),
			"git tag"):][:len("git tag "+version+"\n  git tag pkg/store/natskv/"+version)]); diff != "" {
		t.Errorf("the first tags: -want, +got:\n%s", diff)
	}
	if err := run([]string{"-check", version}, dir, os.Stderr); err != nil {
		t.Error(err)
	}
	natskv := filepath.Join(dir, "pkg", "store", "natskv", "go.mod")
	mod := output(t, exec.Command("go", "mod", "edit", "-json", natskv))
	for _, words := range []string{`"Path": "` + root + `"`, `"Version": "` + version + `"`, `"Path": "../../.."`} {
		if !strings.Contains(mod, words) {
			t.Errorf("natskv's go.mod, read by Go, has no %s:\n%s", words, mod)
		}
	}
}

// TestVersions checks which versions of these modules are refused.
func TestVersions(t *testing.T) {
	for v, want := range map[string]bool{
		"v0.1.0": true, "v1.2.3": true, "v0.1.0-rc.1": true,
		"0.1.0": false, "v0.1": false, "v2.0.0": false, "v0.0.0": false, "v01.0.0": false, "": false, "v0.1.0\n": false,
	} {
		if err := valid(v); (err == nil) != want {
			t.Errorf("%q: %v", v, err)
		}
	}
	for _, args := range [][]string{nil, {"v0.1.0", "v0.2.0"}, {"-no", "v0.1.0"}, {"v2.0.0"}} {
		if err := run(args, t.TempDir(), os.Stderr); err == nil {
			t.Errorf("release %q succeeds", args)
		}
	}
}

// TestReleasedModules checks that a tagged module uses only modules that are tagged before it,
// and replaces no other module: a module that requires it would not get the replacement.
func TestReleasedModules(t *testing.T) {
	var before []string
	for _, m := range released {
		mod := string(read(t, strings.TrimPrefix(m.folder+"/go.mod", "./")))
		if !strings.HasPrefix(mod, "module "+m.path()+"\n") {
			t.Errorf("the module in %s is not %s", m.folder, m.path())
		}
		for line := range strings.Lines(mod) {
			fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			if len(fields) > 1 && strings.HasPrefix(fields[0], root) && strings.HasPrefix(fields[1], "v") &&
				!slices.Contains(before, fields[0]) {
				t.Errorf("%s requires %s, which is not tagged before it", m.folder, fields[0])
			}
			if from, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "replace "), " => "); ok &&
				!slices.Contains(m.uses, from) {
				t.Errorf("%s replaces %s", m.folder, from)
			}
		}
		before = append(before, m.path())
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// goMods returns the go.mod files below a folder, sorted.
func goMods(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" {
			name, err := filepath.Rel(dir, file)
			out = append(out, filepath.ToSlash(name))

			return err
		}

		return skipped(d, err)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)

	return out
}
