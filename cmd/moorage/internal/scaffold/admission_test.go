package scaffold_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// An asked is one rule of a policy's, with all fields that it may have: what is asked about.
type asked struct {
	APIGroups     []string `json:"apiGroups"`
	APIVersions   []string `json:"apiVersions"`
	Operations    []string `json:"operations"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames"`
	Scope         string   `json:"scope"`
}

// TestAdmission checks the scope of the policy by dry-run creations: it adds a finalizer to managed resources of this
// provider only. A ProviderConfig is none, and its finalizer would never be removed.
func TestAdmission(t *testing.T) {
	for _, clusterScoped := range []bool{false, true} {
		p, err := with(t, cloud(), kinds(clusterScoped)...).WithProviderConfig("v1alpha1")
		if err != nil {
			t.Fatal(err)
		}

		var policy, binding struct {
			Metadata struct{ Name string }
			Spec     map[string]any
		}

		for path, into := range map[string]any{"policy.yaml": &policy, "binding.yaml": &binding} {
			if err := yaml.Unmarshal(content(t, p, "package/admission/"+path), into); err != nil {
				t.Fatal(err)
			}
		}

		constraints, err := yaml.Marshal(policy.Spec["matchConstraints"])
		if err != nil {
			t.Fatal(err)
		}

		var got struct {
			ResourceRules []asked `json:"resourceRules"`
		}
		if err := yaml.UnmarshalStrict(constraints, &got); err != nil {
			t.Fatal(err)
		}

		want := []asked{{
			APIGroups: []string{"cloud.example.org"}, APIVersions: []string{"*"}, Operations: []string{"CREATE"},
			Resources: []string{"buckets", "gateways", "archives", "directories"},
		}}
		if diff := cmp.Diff(want, got.ResourceRules); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}

		if diff := cmp.Diff(map[string]any{"policyName": policy.Metadata.Name}, binding.Spec); diff != "" {
			t.Errorf("the binding: -want, +got:\n%s", diff)
		}
	}
}

// TestAdmissionGivesTheFinalizer compares what objects are given with what the library takes
// away.
func TestAdmissionGivesTheFinalizer(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(repository, "pkg", "reconciler", "managed", "unclaimedfinalizer.go"))
	if err != nil {
		t.Fatal(err)
	}

	known := regexp.MustCompile(`(?m)^const UnclaimedFinalizer = "(.*)"$`).FindSubmatch(source)
	if known == nil {
		t.Fatal("the library does not say what the finalizer is called")
	}

	policy := string(content(t, with(t, cloud(), bucket()), "package/admission/policy.yaml"))
	given := slices.Compact(regexp.MustCompile(`moorage\.dev/[a-z-]+`).FindAllString(policy, -1))

	if !slices.Equal(given, []string{string(known[1])}) {
		t.Errorf("objects are given %v, and the library knows %s", given, known[1])
	}
}

// TestAdmissionBeginsWithAKind: a policy about nothing is refused by the API server, so there is
// none before the first kind.
func TestAdmissionBeginsWithAKind(t *testing.T) {
	for _, f := range plan(t, nil, cloud()) {
		if strings.HasPrefix(f.Path, "package/admission/") || f.Path == "package/kustomization.yaml" &&
			strings.Contains(string(f.Content), "- admission/") {
			t.Errorf("there is no kind, and %s is about some", f.Path)
		}
	}

	first := with(t, cloud(), bucket())
	before := cloud()

	for _, f := range plan(t, &before, first) {
		if strings.HasPrefix(f.Path, "package/admission/") && f.Replaces != nil {
			t.Errorf("%s was there before", f.Path)
		}
	}

	second := plan(t, &first, with(t, first, scaffold.Kind{Kind: "Gateway", Version: "v1", Class: scaffold.Named}))
	if !slices.ContainsFunc(second, func(f scaffold.File) bool {
		return f.Path == "package/admission/policy.yaml" && strings.Contains(string(f.Content), "gateways")
	}) {
		t.Error("a second kind is not added to the policy")
	}
}
