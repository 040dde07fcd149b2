package conformance

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestModules: a provider that is tested with this package needs no further module.
func TestModules(t *testing.T) {
	modules := func(pkg string) []string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
			pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Fields(string(out))
		slices.Sort(list)

		return slices.Compact(list)
	}
	provider := modules("github.com/moorage-dev/moorage/pkg/reconciler/managed")
	if len(provider) < 5 {
		t.Fatalf("a provider needs more modules than %v", provider)
	}
	if diff := cmp.Diff(provider, modules("github.com/moorage-dev/moorage/pkg/conformance")); diff != "" {
		t.Errorf("-provider, +kit:\n%s", diff)
	}
}
