package docs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pluginFile has the texts of the library that kubectl moorage shows.
const pluginFile = "cmd/kubectl-moorage/internal/reasons/zz_generated.reasons.go"

// TestPluginTextsAreGenerated checks that kubectl moorage has the texts of the page about conditions.
func TestPluginTextsAreGenerated(t *testing.T) {
	want := noError(t)(pluginTexts(read(t, conditionsPage), packages(t, "pkg/meta", "apis/common/v1")...))
	if *update {
		if err := os.WriteFile(filepath.Join(root, pluginFile), []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, pluginFile), want); diff != "" {
		t.Errorf("%s differs from %s; run: go test ./internal/docs -update\n-file, +page:\n%s", pluginFile,
			conditionsPage, diff)
	}
}

func TestPlain(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"Code":     {"Read `Synced`.", "Read Synced."},
		"Here":     {"see [the cases](#resolve-a-creation).", "see the cases (" + conditionsPage + "#resolve-a-creation)."},
		"Page":     {"see [backup.md](backup.md).", "see backup.md (docs/backup.md)."},
		"Fragment": {"[a name](lifecycle.md#a-name)", "a name (docs/lifecycle.md#a-name)"},
		"Folder":   {"[tests](../internal/x_test.go)", "tests (internal/x_test.go)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := plain(tc.text); got != tc.want {
				t.Errorf("plain(%q) is %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}

func TestPluginTextsNeedATable(t *testing.T) {
	if text, err := pluginTexts("# No table\n", packages(t, "pkg/meta", "apis/common/v1")...); err == nil {
		t.Errorf("no error without a table:\n%s", text)
	}
	if text, err := pluginTexts(read(t, conditionsPage)); err == nil {
		t.Errorf("no error without constants:\n%s", text)
	}
}
