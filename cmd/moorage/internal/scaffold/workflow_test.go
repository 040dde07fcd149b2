package scaffold_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// A workflow is one of GitHub.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct{ Uses, Run string }
	}
}

// TestWorkflow looks whether what workflows run is in the Makefile, whether the actions that they
// use are pinned to a commit, beside a version that Renovate understands, and what they may do.
func TestWorkflow(t *testing.T) {
	reads := map[string]string{"contents": "read"}
	signs := map[string]string{"contents": "read", "id-token": "write", "attestations": "write"}

	cases := map[string]struct {
		job  string
		runs []string
		may  map[string]string
	}{
		".github/workflows/ci.yaml":      {"check", []string{"verify", "lint", "test", "vulncheck"}, nil},
		".github/workflows/release.yaml": {"program", []string{"vulncheck", "sbom"}, signs},
	}

	for file, tc := range cases {
		t.Run(file, func(t *testing.T) {
			text := made(t, file)

			var w workflow
			if err := yaml.Unmarshal(text, &w); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(reads, w.Permissions) + cmp.Diff(tc.may, w.Jobs[tc.job].Permissions); diff != "" {
				t.Errorf("a workflow may do other things: -want, +got:\n%s", diff)
			}

			var runs []string

			for _, step := range w.Jobs[tc.job].Steps {
				if target, ok := strings.CutPrefix(step.Run, "make "); ok {
					runs = append(runs, target)

					if !strings.Contains(string(made(t, "Makefile")), "\n"+target+": ") {
						t.Errorf("the workflow runs make %s, which there is not", target)
					}
				}

				if pinned := regexp.MustCompile(`(?m)` + regexp.QuoteMeta(step.Uses) + ` # v\d+\.\d+\.\d+$`); step.Uses != "" &&
					(!regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(step.Uses) || !pinned.Match(text)) {
					t.Errorf("%s is not pinned to a commit, beside its version", step.Uses)
				}
			}

			if !slices.Equal(runs, tc.runs) || len(w.Jobs) != 1 {
				t.Errorf("%q are run, and %q are to be", runs, tc.runs)
			}
		})
	}
}

// TestRenovate looks whether what no manager of Renovate knows by itself is found by the patterns
// of its configuration, pinned or not.
func TestRenovate(t *testing.T) {
	var config struct {
		Extends        []string
		CustomManagers []struct{ ManagerFilePatterns, MatchStrings []string }
	}
	if err := json.Unmarshal(made(t, ".github/renovate.json"), &config); err != nil {
		t.Fatal(err)
	}

	if want := []string{"config:recommended", "docker:pinDigests",
		"helpers:pinGitHubActionDigests"}; !slices.Equal(config.Extends, want) {
		t.Errorf("Renovate is to do %q, and does %q", want, config.Extends)
	}

	found := map[string]string{}
	digest := "@sha256:" + strings.Repeat("0a", 32)

	for _, file := range []string{".ko.yaml", "Makefile"} {
		for _, m := range config.CustomManagers {
			pattern := strings.TrimSuffix(strings.TrimPrefix(m.ManagerFilePatterns[0], "/"), "/")
			if !regexp.MustCompile(pattern).MatchString(file) {
				continue
			}

			match := regexp.MustCompile(m.MatchStrings[0])
			text := string(made(t, file))

			for _, version := range []string{text, strings.Replace(text, ":nonroot", ":nonroot"+digest, 1)} {
				dependency := match.FindStringSubmatch(version)
				if dependency == nil {
					t.Fatalf("%s has nothing like %s", file, match)
				}

				found[file] = strings.Join(dependency[1:], " ")
			}
		}
	}

	if want := "gcr.io/distroless/static nonroot " + digest[1:]; found[".ko.yaml"] != want ||
		!strings.HasPrefix(found["Makefile"], "golang.org/x/vuln v") {
		t.Errorf("Renovate finds %q in %q", found, slices.Sorted(maps.Keys(found)))
	}
}
