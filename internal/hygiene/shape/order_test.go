package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

func treeOf(t *testing.T, files map[string]string) *measure.Tree {
	t.Helper()
	tree, err := measure.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestOrderBars(t *testing.T) {
	const (
		along   = "package a\n\nfunc a() { b(); c() }\n\nfunc b() {}\n\nfunc c() {}\n"
		against = "package a\n\nfunc z() {}\n\nfunc y() { z() }\n"
	)
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   []string
		list   []string
	}{
		"Managed": {
			"Packages below count as well, and percentages are rounded up.",
			map[string]string{managedDir + "/a.go": along, managedDir + "/internal/x/a.go": against, "pkg/x/a.go": against},
			[]string{"34 (1 of 3)", "-"},
			[]string{managedDir + "/internal/x"},
		},
		"Simulator": {
			"Both places count.",
			map[string]string{"pkg/sim/a.go": along, "internal/sim/a.go": against, "pkg/simple/a.go": against},
			[]string{"-", "34 (1 of 3)"},
			[]string{"internal/sim"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tree := treeOf(t, tc.files)
			var got, listed []string
			for _, b := range orderBars(tree) {
				got = append(got, b.measured())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\norderBars(...): -want, +got:\n%s", tc.reason, diff)
			}
			found, err := findings(tree, order)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				listed = append(listed, f.Package)
			}
			if diff := cmp.Diff(tc.list, listed); diff != "" {
				t.Errorf("%s\nfindings(... order): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
