//go:build !race

// The test runs other programs, which the race detector does not see.

package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	module  = "github.com/moorage-dev/moorage/cmd/kubectl-moorage"
	release = "v0.987.6"
)

// TestInstall runs the command by which docs/kubectl.md installs the program, outside of the repository and without the
// network: a folder serves this module as a release, and the module cache of this machine the others.
func TestInstall(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "kubectl.md"))
	if err != nil {
		t.Fatal(err)
	}

	_, line, found := strings.Cut(string(page), "\ngo install ")
	line, _, _ = strings.Cut(line, "\n")

	if !found {
		t.Fatal("docs/kubectl.md does not say how to install the program")
	}

	cached, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}

	bin := t.TempDir()
	others := filepath.Join(strings.TrimSpace(string(cached)), "cache", "download")

	for name, value := range map[string]string{
		"GOBIN": bin, "GOMODCACHE": t.TempDir(), "GOSUMDB": "off", "GOWORK": "off",
		"GOFLAGS": "-trimpath -modcacherw", // so that the module cache can be removed
		"GOPROXY": "file://" + publish(t) + ",file://" + others,
	} {
		t.Setenv(name, value)
	}

	install := exec.CommandContext(t.Context(), "go", "install", line)
	install.Dir = t.TempDir()

	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("go install %s: %v\n%s", line, err, out)
	}

	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl-moorage"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "kubectl moorage "+release+", go") {
		t.Errorf("the version of the installed program is %q: %v", out, err)
	}
}

// publish writes this module as a release into a folder that serves as a module proxy.
func publish(t *testing.T) string {
	t.Helper()

	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}

	proxy := t.TempDir()
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")

	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}

	for name, content := range map[string][]byte{
		"list": []byte(release + "\n"), release + ".info": []byte(`{"Version": "` + release + `"}`),
		release + ".mod": mod, release + ".zip": zipped(t),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return proxy
}

// zipped returns this module as a module proxy serves it.
func zipped(t *testing.T) []byte {
	t.Helper()

	var out bytes.Buffer

	archive := zip.NewWriter(&out)
	here := os.DirFS(".")

	err := fs.WalkDir(here, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path != "go.mod" && path != "go.sum" && !strings.HasSuffix(path, ".go") {
			return err
		}

		content, err := fs.ReadFile(here, path)
		if err != nil {
			return err
		}

		file, err := archive.Create(module + "@" + release + "/" + path)
		if err == nil {
			_, err = file.Write(content)
		}

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
