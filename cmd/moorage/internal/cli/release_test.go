//go:build !race

// The tests run other programs, which the race detector does not see.

package cli_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/pinned"
)

// library is the module that a provider requires.
const library = "github.com/moorage-dev/moorage"

// publish adds this repository as a release to a folder that serves as a module proxy.
func publish(t *testing.T, proxy, repository, version string) {
	t.Helper()

	mod, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(proxy, filepath.FromSlash(library), "@v")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}

	for suffix, content := range map[string][]byte{
		".info": []byte(`{"Version": "` + version + `"}`), ".mod": mod,
		".zip": zipped(t, repository, library+"@"+version+"/"),
	} {
		if err := os.WriteFile(filepath.Join(dir, version+suffix), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// zipped returns a module as a proxy serves it, without nested modules and untracked files.
func zipped(t *testing.T, dir, prefix string) []byte {
	t.Helper()

	var out bytes.Buffer

	archive := zip.NewWriter(&out)
	root := os.DirFS(dir)

	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a file that another process has removed
			return nil
		case err != nil || path == ".":
			return err
		case d.IsDir():
			_, err := fs.Stat(root, path+"/go.mod")
			if err == nil || path == "bin" || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}

			return nil
		case !d.Type().IsRegular():
			return nil
		}

		text, err := fs.ReadFile(root, path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}

		if err != nil {
			return err
		}

		file, err := archive.Create(prefix + path)
		if err != nil {
			return err
		}

		_, err = file.Write(text)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

// modules gives Go a module cache of its own, filled from the cache of this machine, from a folder, and from the
// module proxy: no trace of a release that does not exist may remain.
func modules(t *testing.T, proxy string) {
	t.Helper()

	there, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}

	own := t.TempDir()
	t.Cleanup(func() { // the module cache is read-only
		_ = filepath.WalkDir(own, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o700) // of a folder
			}

			return err
		})
	})

	cached := filepath.Join(strings.TrimSpace(string(there)), "cache", "download")

	t.Setenv("GOMODCACHE", own)
	t.Setenv("GOPROXY", strings.Join([]string{"file://" + proxy, "file://" + cached, os.Getenv("GOPROXY")}, ","))
	t.Setenv("GONOSUMDB", library)
}

// TestRelease generates a provider for a release, and upgrades it to the next one: the result compiles, and the checks
// of its workflow pass.
func TestRelease(t *testing.T) {
	repository, err := filepath.Abs(filepath.Dir(filepath.Dir(page)))
	if err != nil {
		t.Fatal(err)
	}

	generator, err := pinned.Tool(filepath.Join(repository, "hack", "tools"), "controller-gen")
	if err != nil {
		t.Fatal(err)
	}

	proxy := t.TempDir()
	publish(t, proxy, repository, "v1.2.3")
	publish(t, proxy, repository, "v1.3.0")
	modules(t, proxy)
	t.Setenv("CONTROLLER_GEN", generator)

	dir := filepath.Join(t.TempDir(), "cloud")

	for _, args := range [][]string{
		{"init", dir, "--module", "example.org/provider-cloud", "--group", "cloud.example.org", "--moorage-version",
			"v1.2.3"},
		{"add", "kind", "--dir", dir, "--version", "v1alpha1", "--kind", "Bucket"},
		{"diff", "--dir", dir, "--apply", "--yes", "--dirty", "--moorage-version", "v1.3.0"},
	} {
		var out bytes.Buffer
		if code := cli.Main(t.Context(), args, nil, &out, &out); code != 0 {
			t.Fatalf("moorage %s: exit code %d\n%s", strings.Join(args, " "), code, &out)
		}
	}

	check := exec.CommandContext(t.Context(), "make", "verify", "vet")
	check.Dir = dir

	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("make verify vet: %v\n%s", err, out)
	}

	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}

	if text := string(sums); strings.Contains(text, library+" v1.2.3") || !strings.Contains(text, library+" v1.3.0") {
		t.Errorf("there are sums of another release:\n%s", text)
	}
}
