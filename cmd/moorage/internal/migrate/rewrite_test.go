package migrate_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate"
)

// TestRewrite rewrites the files below testdata/rewrite, one for each rule and for each way
// in which rewriting could go wrong. The comment of an archive is the origin and the reason.
func TestRewrite(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "rewrite", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archive was found: %v", err)
	}

	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}

			origin, _, _ := strings.Cut(string(archive.Comment), ":")
			want := map[string]string{}

			for _, f := range archive.Files {
				want[f.Name] = string(f.Data)
			}

			after, decisions, err := migrate.Rewrite(migrate.Origin(origin), want["before.go"])
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want["after.go"], after); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}

			var reported strings.Builder
			for _, d := range decisions {
				reported.WriteString(d.String() + "\n")
			}

			if diff := cmp.Diff(want["told"], reported.String()); diff != "" {
				t.Errorf("decisions, -want, +got:\n%s", diff)
			}

			again, decisions, err := migrate.Rewrite(migrate.Origin(origin), after)
			if again != after && want["told"] == "" || err != nil {
				t.Errorf("what is migrated changes when it is migrated again: %v\n%s\n%v", err, cmp.Diff(after, again), decisions)
			}
		})
	}
}

// TestRewriteKeepsForm has the bytes around lines that Go does not look at.
func TestRewriteKeepsForm(t *testing.T) {
	const (
		before = "package p\n\nimport pt \"github.com/krateoplatformops/provider-runtime/pkg/ptr\"\n\nvar x = pt.To(1)\n"
		after  = "package p\n\nimport pt \"k8s.io/utils/ptr\"\n\nvar x = pt.To(1)\n"
		mark   = "\ufeff"
	)

	windows := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

	for _, row := range []struct{ before, after, why string }{
		{before, after, "lines end as Go ends them"},
		{windows(before), windows(after), "or as Windows does"},
		{mark + before, mark + after, "a byte order mark stays"},
		{mark + windows(before), mark + windows(after), "both"},
		{mark + windows("package p\n var  x int\n"), mark + windows("package p\n var  x int\n"),
			"what does not change stays as it is"},
	} {
		if got, _, err := migrate.Rewrite(migrate.KrateoV09, row.before); err != nil || got != row.after {
			t.Errorf("%s: %q, %v", row.why, got, err)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
		why  string
	}{
		{"v0.7.0", "v0.8.0", -1, "numbers are compared"},
		{"v0.9.0", "v0.10.0", -1, "and as numbers, not as texts"},
		{"v1.0.0-rc.1", "v1.0.0", -1, "a release comes after its candidates"},
		{"v0.0.0-20240102030405-aaaaaaaaaaaa", "v0.0.0-20250102030405-aaaaaaaaaaaa", -1, "the time of a commit counts"},
		{"v2.0.0+incompatible", "v2.0.0", 0, "what is behind a plus does not"},
		{"v0.25.2", "v0.25.2", 0, "the same"},
	} {
		if got := migrate.Compare(row.a, row.b); got < 0 != (row.want < 0) || got > 0 != (row.want > 0) {
			t.Errorf("%s and %s compare to %d: %s", row.a, row.b, got, row.why)
		}
		if got := migrate.Compare(row.b, row.a); got > 0 != (row.want < 0) {
			t.Errorf("%s and %s compare to %d: %s", row.b, row.a, got, row.why)
		}
	}
}
