package hygiene

import (
	"regexp"
	"strings"
	"testing"
)

// A row of the table of pins in CONTRIBUTING.md: | `module` | version | `go.mod` |
var pin = regexp.MustCompile("^\\| `([^`]+)` \\| ([^ |]+) \\| `([^`]*)go\\.mod` \\|")

// Pins that the table must have; it may have more.
var pinned = []string{
	"go",
	"sigs.k8s.io/controller-runtime",
	"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/apiextensions-apiserver",
	"k8s.io/kubernetes", "go.etcd.io/etcd/server/v3",
	"sigs.k8s.io/controller-tools",
}

// TestPinsAreDocumented compares the table of pins in CONTRIBUTING.md with the go.mod files.
func TestPinsAreDocumented(t *testing.T) {
	mods := map[string]goMod{}
	documented := map[string]bool{}
	for line := range strings.Lines(string(read(t, "CONTRIBUTING.md"))) {
		m := pin.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		path, version, dir := m[1], m[2], m[3]
		if _, ok := mods[dir]; !ok {
			mods[dir] = readMod(t, dir)
		}
		documented[path] = true
		if got := mods[dir].version(path); got != version {
			t.Errorf("CONTRIBUTING.md says that %s is pinned to %s, but %sgo.mod says %q", path, version, dir, got)
		}
	}
	for _, path := range pinned {
		if !documented[path] {
			t.Errorf("CONTRIBUTING.md does not say to which version %s is pinned", path)
		}
	}
}

// TestOneGoVersion keeps every module on the version of Go that the root names.
func TestOneGoVersion(t *testing.T) {
	want := readMod(t, ".").Go
	for _, name := range files(t, func(name string) bool { return strings.HasSuffix(name, "/go.mod") }) {
		dir := strings.TrimSuffix(name, "go.mod")
		if got := readMod(t, dir).Go; got != want {
			t.Errorf("%s says go %s, the root module says go %s", name, got, want)
		}
	}
}
