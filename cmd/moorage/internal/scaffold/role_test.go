//go:build !race

// As with golden_test.go, what runs here are other programs.

package scaffold_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestRole reads the role that controller-gen makes of a provider's markers: it is what the
// provider needs, and nothing else. TestChart compares the chart with it.
func TestRole(t *testing.T) {
	p, err := with(t, cloud(), kinds(false)...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(filepath.Join(generated(t, p), "package", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	var role object
	if err := yaml.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(slices.Sorted(slices.Values(least)), rights(t, role)); diff != "" {
		t.Errorf("the least rights are others: -want, +got:\n%s", diff)
	}
}
