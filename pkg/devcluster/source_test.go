package devcluster

import (
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFingerprint(t *testing.T) {
	files := map[string]string{
		"go.mod":          "module x\n",
		"go.sum":          "x v1 h1:a\n",
		"main.go":         "package main\n",
		"internal/a/a.go": "package a\n",
	}
	dir := t.TempDir()
	write(t, dir, files)
	base, err := fingerprint(dir, "flags")
	if err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		change map[string]string
		build  string
		same   bool
	}{
		"Nothing":  {"the same sources give the same binary", nil, "flags", true},
		"Test":     {"tests are not linked", map[string]string{"main_test.go": "package main\n"}, "flags", true},
		"Readme":   {"text is not compiled", map[string]string{"README.md": "hello\n"}, "flags", true},
		"Hidden":   {"hidden folders are not compiled", map[string]string{".idea/x.go": "package x\n"}, "flags", true},
		"Testdata": {"testdata is not compiled", map[string]string{"testdata/x.go": "package x\n"}, "flags", true},
		"Source":   {"a source changed", map[string]string{"main.go": "package main // changed\n"}, "flags", false},
		"NestedSource": {"a source in a package changed", map[string]string{"internal/a/a.go": "package a // changed\n"},
			"flags", false},
		"NewSource": {"a source was added", map[string]string{"new.go": "package main\n"}, "flags", false},
		"MovedBoundary": {"content moved from one file to the next",
			map[string]string{"go.mod": "module x\ng", "go.sum": "o.sum"}, "flags", false},
		"Requirement": {"a requirement changed", map[string]string{"go.mod": "module x\nrequire y v1.0.0\n"}, "flags",
			false},
		"Checksum":        {"a checksum changed", map[string]string{"go.sum": "x v1 h1:b\n"}, "flags", false},
		"FlagsOrCompiler": {"it is built differently", nil, "other", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, files)
			write(t, dir, c.change)
			got, err := fingerprint(dir, c.build)
			if err != nil {
				t.Fatal(err)
			}
			if (got == base) != c.same {
				t.Errorf("%s: same fingerprint is %t, want %t", c.reason, got == base, c.same)
			}
		})
	}
}

func TestCheckout(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"repo/devcluster/go.mod":           "// a comment\nmodule " + module + "\n\ngo 1.26\n",
		"repo/examples/provider/x.go":      "package x\n",
		"fork/devcluster/go.mod":           "module example.com/devcluster\n",
		"quoted/devcluster/go.mod":         "module \"" + module + "\"\n",
		"repo/examples/devcluster/main.go": "package main\n",
	})
	cases := map[string]struct {
		reason string
		from   string
		want   string
	}{
		"Root": {"the root of a checkout", "repo", "repo/devcluster"},
		"Below": {"a nested module; the nearer folder of that name is not the module", "repo/examples/provider",
			"repo/devcluster"},
		"Inside":  {"the module itself", "repo/devcluster", "repo/devcluster"},
		"Other":   {"a module with another path is somebody else's", "fork", ""},
		"Quoted":  {"go.mod may quote the path", "quoted", "quoted/devcluster"},
		"Outside": {"there is none", ".", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = filepath.Join(root, want)
			}
			if got := checkout(filepath.Join(root, c.from)); got != want {
				t.Errorf("%s: got %q, want %q", c.reason, got, want)
			}
		})
	}
}

func TestReleased(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"devcluster/go.mod": "module " + module + "\n"})
	dep := func(m debug.Module) *debug.BuildInfo {
		m.Path = parentModule
		return &debug.BuildInfo{Main: debug.Module{Path: "example.com/provider"}, Deps: []*debug.Module{&m}}
	}
	cases := map[string]struct {
		reason  string
		info    *debug.BuildInfo
		want    string
		problem string
	}{
		"Replaced": {
			reason: "a library replaced by a checkout brings the checkout's sources",
			info:   dep(debug.Module{Version: "v0.1.0", Replace: &debug.Module{Path: root}}),
			want:   filepath.Join(root, "devcluster"),
		},
		"Devel": {
			reason:  "a version that was not released cannot be downloaded",
			info:    dep(debug.Module{Version: "(devel)"}),
			problem: "was not released",
		},
		"RelativeReplace": {
			reason:  "a relative path means nothing outside its module",
			info:    dep(debug.Module{Version: "v0.1.0", Replace: &debug.Module{Path: "../moorage"}}),
			problem: "was not released",
		},
		"Absent": {
			reason:  "the build says nothing of the library",
			info:    &debug.BuildInfo{Main: debug.Module{Path: "example.com/provider"}},
			problem: "does not name its version",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := released(t.Context(), libraryIn(c.info))
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), EnvKubeconfig) {
					t.Errorf("%s: error %v, want one with %q that says what to do", c.reason, err, c.problem)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%s: got %q, %v, want %q", c.reason, got, err, c.want)
			}
		})
	}
}

// TestLibraryOf looks at modules of providers, as their tests do: a test binary does
// not say what it was made of.
func TestLibraryOf(t *testing.T) {
	root := t.TempDir()
	provider := "module example.com/provider\n\ngo 1.26.0\n\nrequire " + parentModule + " v0.0.0\n\nreplace " +
		parentModule + " => "
	write(t, root, map[string]string{
		"moorage/go.mod":         "module " + parentModule + "\n\ngo 1.26.0\n",
		"absolute/go.mod":        provider + filepath.Join(root, "moorage") + "\n",
		"relative/go.mod":        provider + "../moorage\n",
		"relative/internal/x.go": "package internal\n",
		"other/go.mod":           "module example.com/other\n\ngo 1.26.0\n",
	})
	replaced := &debug.Module{Path: parentModule, Version: "v0.0.0",
		Replace: &debug.Module{Path: filepath.Join(root, "moorage")}}
	cases := map[string]struct {
		reason string
		from   string
		want   *debug.Module
	}{
		"Absolute": {"the checkout is named", "absolute", replaced},
		"Relative": {"the checkout is named by where the module is", "relative", replaced},
		"Below":    {"a test runs in the folder of its package", "relative/internal", replaced},
		"Other":    {"the module does not require the library", "other", nil},
		"Outside":  {"there is no module", ".", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, libraryOf(t.Context(), filepath.Join(root, c.from))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestDownload fetches a small module: the first release of this one does not
// exist before it is tagged.
func TestDownload(t *testing.T) {
	dir, err := download(t.Context(), "go.uber.org/goleak@v1.3.0")
	if err != nil {
		t.Fatal(err)
	}
	if got := moduleOf(dir); got != "go.uber.org/goleak" {
		t.Errorf("downloaded module %q", got)
	}
	t.Setenv("GOPROXY", "off")
	if _, err := download(t.Context(), "go.uber.org/goleak@v0.0.1-none"); err == nil ||
		!strings.Contains(err.Error(), "cannot download") {
		t.Errorf("error %v, want one that says what could not be downloaded", err)
	}
}
