package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module = "github.com/moorage-dev/moorage"
	root   = "../.."
)

// TestRepository checks the imports of every module of the repository.
func TestRepository(t *testing.T) {
	var pkgs []pkg
	for _, dir := range modules(t) {
		pkgs = append(pkgs, list(t, dir)...)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found no package: nothing was checked")
	}
	for _, line := range (rules{module, table}).check(pkgs) {
		t.Error(line)
	}
}

// TestTable finds rows that are incomplete or repeated, and packages of testsMayImport without a row.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range table {
		if l.what == "" {
			t.Errorf("layer %s does not say what it is", l.name)
		}
		for _, u := range l.units {
			if seen[u.path] {
				t.Errorf("%s stands in the table twice", u.path)
			}
			if u.why == "" {
				t.Errorf("%s does not say what it is for", u.path)
			}
			seen[u.path] = true
		}
	}
	for _, path := range testsMayImport {
		if _, known := (rules{module, table}).find(path); !known {
			t.Errorf("tests may import %s, which the table does not know", path)
		}
	}
}

// TestCheck shows that a forbidden edge is reported, kind by kind, and that an allowed one is not.
func TestCheck(t *testing.T) {
	cases := map[string]struct {
		reason string
		pkg    pkg
		want   []string
	}{
		"Down": {
			reason: "A lower layer may be imported, however far below.",
			pkg: pkg{
				ImportPath: "pkg/reconciler/managed",
				Imports:    []string{"pkg/meta", "pkg/resource/fake", "apis/common/v1", "context", "k8s.io/api"},
			},
		},
		"Up": {
			reason: "A higher layer may not be imported.",
			pkg:    pkg{ImportPath: "pkg/meta", Imports: []string{"pkg/resource"}},
			want:   []string{"pkg/meta (layer 1) imports pkg/resource: layer 2 is above it"},
		},
		"Sibling": {
			reason: "Units of one layer do not import each other.",
			pkg:    pkg{ImportPath: "pkg/syncer", Imports: []string{"pkg/reconciler/managed"}},
			want:   []string{"pkg/syncer (layer 4) imports pkg/reconciler/managed: siblings do not import each other"},
		},
		"SameUnit": {
			reason: "Packages of one unit may import each other.",
			pkg:    pkg{ImportPath: "pkg/resource/fake", Imports: []string{"pkg/resource"}},
		},
		"LongestPattern": {
			reason: "connect is not part of the unit clusters, but two layers above it.",
			pkg:    pkg{ImportPath: "pkg/clusters", Imports: []string{"pkg/clusters/connect"}},
			want:   []string{"pkg/clusters (layer 2) imports pkg/clusters/connect: layer 4 is above it"},
		},
		"NoRow": {
			reason: "A package that the table does not know must get a row.",
			pkg:    pkg{ImportPath: "pkg/util"},
			want:   []string{"pkg/util has no row in the table"},
		},
		"UnknownTarget": {
			reason: "An import of such a package is reported as well.",
			pkg:    pkg{ImportPath: "pkg/meta", Imports: []string{"pkg/util"}},
			want:   []string{"pkg/meta (layer 1) imports pkg/util: the table does not know it"},
		},
		"Alone": {
			reason: "The decision imports nothing, neither of ours nor of others.",
			pkg: pkg{
				ImportPath: "pkg/reconciler/managed/internal/lifecycle",
				Imports:    []string{"time", "k8s.io/api", "pkg/errors"},
			},
			want: []string{
				"pkg/reconciler/managed/internal/lifecycle (layer 4) imports k8s.io/api: it imports nothing but the standard " +
					"library",
				"pkg/reconciler/managed/internal/lifecycle (layer 4) imports pkg/errors: it imports nothing but the standard " +
					"library",
			},
		},
		"AloneInTests": {
			reason: "Its tests may use what tests are written with.",
			pkg: pkg{
				ImportPath:  "pkg/reconciler/managed/internal/lifecycle",
				TestImports: []string{"github.com/google/go-cmp/cmp"},
			},
		},
		"OpenToItsParent": {
			reason: "The reconciler uses the decision that was taken out of it.",
			pkg: pkg{
				ImportPath: "pkg/reconciler/managed",
				Imports:    []string{"pkg/reconciler/managed/internal/lifecycle"},
			},
		},
		"Sealed": {
			reason: "devcluster is started as a process, never linked.",
			pkg:    pkg{ImportPath: "examples/provider-nats", Imports: []string{"devcluster/controlplane"}},
			want:   []string{"examples/provider-nats (layer 5) imports devcluster/controlplane: no package imports that"},
		},
		"Apart": {
			reason: "devcluster does not know the library.",
			pkg:    pkg{ImportPath: "devcluster", Imports: []string{"pkg/errors"}},
			want:   []string{"devcluster (layer apart) imports pkg/errors: layer 0 is above it"},
		},
		"Outside": {
			reason: "An example imports what another repository could import.",
			pkg: pkg{
				ImportPath: "examples/provider-nats/cmd",
				Imports:    []string{"pkg/reconciler/managed/internal/clock", "examples/provider-nats/internal/dev"},
			},
			want: []string{"examples/provider-nats/cmd (layer 5) imports pkg/reconciler/managed/internal/clock: programs use " +
				"only what is public"},
		},
		"Star": {
			reason: "Two examples are two units.",
			pkg:    pkg{ImportPath: "examples/provider-nats", Imports: []string{"examples/provider-postgres/apis"}},
			want: []string{
				"examples/provider-nats (layer 5) imports examples/provider-postgres/apis: no package imports that",
			},
		},
		"TestHelpers": {
			reason: "Tests of any layer may use the mock client and the fakes, in the package and outside it.",
			pkg: pkg{
				ImportPath: "pkg/meta", TestImports: []string{"pkg/test"},
				XTestImports: []string{"pkg/resource/fake"},
			},
		},
		"TestUp": {
			reason: "Tests may not import anything else above them.",
			pkg:    pkg{ImportPath: "pkg/meta", XTestImports: []string{"pkg/reconciler/managed"}},
			want:   []string{"test of pkg/meta (layer 1) imports pkg/reconciler/managed: layer 4 is above it"},
		},
		"HelpersOutsideTests": {
			reason: "What tests may import is not open to the package itself.",
			pkg:    pkg{ImportPath: "pkg/errors", Imports: []string{"pkg/test"}},
			want:   []string{"pkg/errors (layer 0) imports pkg/test: layer 1 is above it"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := (rules{module, table}).check([]pkg{qualified(tc.pkg)})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\ncheck(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// qualified puts the module's path before those that are below it, as go list would.
func qualified(p pkg) pkg {
	full := func(paths ...string) (out []string) {
		for _, path := range paths {
			first, _, _ := strings.Cut(path, "/")
			switch first {
			case "pkg", "apis", "examples", "devcluster", "cmd", "internal":
				path = module + "/" + path
			}
			out = append(out, path)
		}
		return out
	}
	return pkg{full(p.ImportPath)[0], full(p.Imports...), full(p.TestImports...), full(p.XTestImports...)}
}

// modules returns the folder of every go.mod in the repository. It stats every Go file on the way: the cache of test
// results does not know the files that go list reads, and would repeat an old result.
func modules(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if d.Name() == "go.mod" {
			dirs = append(dirs, filepath.Dir(path))
		}
		if strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("cannot look for modules: %v", err)
	}
	return dirs
}

// list returns the packages of a module, as go list prints them. With -e it lists packages that do not compile as
// well: their imports count all the same.
func list(t *testing.T, dir string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot list the packages of %s: %v\n%s", dir, err, &stderr)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatalf("cannot read what go list says of %s: %v", dir, err)
		}
		pkgs = append(pkgs, p)
	}
}
