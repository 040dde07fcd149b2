//go:build !race

// As with chart_test.go, what is tested here are other programs.

package scaffold_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// global are the kinds of a deployment that are in no namespace.
var global = []string{
	"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "Namespace",
}

// pod returns what a deployment says of its pods, and of their only container.
func pod(deployment object) (spec, container map[string]any) {
	spec = deployment.at("spec", "template", "spec").(map[string]any)

	return spec, spec["containers"].([]any)[0].(map[string]any)
}

// kustomized makes a provider, and returns its folder and what kustomize makes of its base.
func kustomized(t *testing.T) (dir, kustomize string, made map[string]object) {
	t.Helper()

	p, err := with(t, dock(), kinds(false)...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir, kustomize = generated(t, p), tool(t, filepath.Join("testdata", "helm"), "kustomize")

	return dir, kustomize, printed(t, dir, kustomize, filepath.Join("deploy", "base"))
}

// TestOverlay follows what the base says of overlays: one names the image, and leaves out what an
// older Kubernetes does not know.
func TestOverlay(t *testing.T) {
	dir, kustomize, base := kustomized(t)

	for what, o := range base {
		kind, _, _ := strings.Cut(what, " ")
		if namespaced := o.at("metadata", "namespace") != nil; namespaced == slices.Contains(global, kind) {
			t.Errorf("the %s has a namespace: %t", what, namespaced)
		}
	}

	text, err := os.ReadFile(filepath.Join(dir, "deploy", "base", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	var lines []string
	for _, line := range regexp.MustCompile(`(?m)^#   (.*)$`).FindAllStringSubmatch(string(text), -1) {
		lines = append(lines, strings.Replace(line[1], ".../deploy", "../deploy", 1))
	}

	if err := os.Mkdir(filepath.Join(dir, "overlay"), 0o750); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "overlay", "kustomization.yaml"), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}

	over := printed(t, dir, kustomize, "overlay")

	if _, container := pod(over["Deployment provider-dock"]); container["image"] != "registry.example.org/provider-dock:v1.2.3" {
		t.Errorf("the image is %v", container["image"])
	} else {
		_, was := pod(base["Deployment provider-dock"])
		container["image"] = was["image"]
	}

	maps.DeleteFunc(base, func(what string, _ object) bool { return strings.HasPrefix(what, "MutatingAdmissionPolicy") })

	if diff := cmp.Diff(base, over); diff != "" {
		t.Errorf("-the base without the policy, +the overlay:\n%s", diff)
	}
}
