package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEmbeddedStructs checks that the rows about a pass also show the fields and methods of embedded structs.
func TestEmbeddedStructs(t *testing.T) {
	tree := treeOf(t, map[string]string{
		managedDir + "/pass.go": `package managed

type Reconciler struct{ a, b int }

type pass struct {
	*inner
	other
	sync.Mutex
	last int
}

type inner struct {
	deepest
	x int
}

type deepest struct{ y, z int }

type other interface{ do() }

func (p *pass) run() { p.step() }

func (p *pass) facts() {}

func (p *pass) report() {}

func (r *Reconciler) Reconcile() {}
`,
		managedDir + "/inner.go": "package managed\n\nfunc (i *inner) step() { i.rest() }\n",
		managedDir + "/rest.go":  "package managed\n\nfunc (d *deepest) rest() {}\n",
		lifecycleDir + "/a.go":   "package lifecycle\n\ntype Facts struct{}\n\nfunc Decide(Facts) {}\n",
	})
	m, l := tree.Package(managedDir), tree.Package(lifecycleDir)
	got := map[string]string{}
	for _, b := range append(fieldBars(tree), passBars(m, l)[:4]...) {
		got[b.what] = b.measured()
	}
	want := map[string]string{
		"fields of pass, a struct counted as one":                      "4 (6 with those of embedded structs)",
		"fields of Reconciler, its config counted as one":              "2",
		"fields of the memory of an object, its groups counted as one": "-",
		"methods of pass":            "3 (5 with those of embedded structs)",
		"files with methods of pass": "1 (3 with those of embedded structs)",
		"files of Reconcile, run, facts, Decide, report and of the methods that these call": "3",
		"lines of those files": "35",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
