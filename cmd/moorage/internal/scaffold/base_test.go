//go:build !race

// As with chart_test.go, what is tested here are other programs.

package scaffold_test

import (
	"fmt"
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
	"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding", "Namespace",
}

// shared returns what a base and a chart have in common, by kind and, where there are several,
// by name. A chart names all that is its own after its release, labels it, and says where its
// image is; here the release and its namespace are called as the provider is.
func shared(t *testing.T, made map[string]object) map[string]object {
	t.Helper()

	out := map[string]object{}

	for _, o := range made {
		kind, name := fmt.Sprint(o["kind"]), fmt.Sprint(o.at("metadata", "name"))
		same := object{"apiVersion": o["apiVersion"], "name": name, "namespace": o.at("metadata", "namespace")}

		for _, part := range []string{"spec", "rules", "roleRef", "subjects"} {
			same[part] = o[part]
		}

		switch kind {
		case "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding":
			kind += " " + name
		case "MutatingAdmissionPolicy":
			delete(same, "name") // a package calls it after what it does
		case "MutatingAdmissionPolicyBinding":
			delete(same, "name")

			same["spec"] = made["MutatingAdmissionPolicy "+fmt.Sprint(o.at("spec", "policyName"))]["spec"]
		case "Service":
			same["spec"] = o.at("spec", "ports")
		case "Deployment":
			labels, service := o.at("spec", "template", "metadata", "labels"), made["Service "+name]
			for _, selector := range []any{o.at("spec", "selector", "matchLabels"), service.at("spec", "selector")} {
				if diff := cmp.Diff(labels, selector); diff != "" {
					t.Errorf("-labels of the pods, +what is selected:\n%s", diff)
				}
			}

			spec, container := pod(o)
			delete(container, "image")
			delete(container, "imagePullPolicy") // by default it depends on the image

			same["spec"] = object{"replicas": o.at("spec", "replicas"), "pod": spec}
		}

		out[kind] = same
	}

	return out
}

// pod returns what a deployment says of its pods, and of their only container.
func pod(deployment object) (spec, container map[string]any) {
	spec = deployment.at("spec", "template", "spec").(map[string]any)

	return spec, spec["containers"].([]any)[0].(map[string]any)
}

// kustomized makes a provider, and returns its folder and what kustomize makes of its base.
func kustomized(t *testing.T) (dir, kustomize string, made map[string]object) {
	t.Helper()

	p, err := with(t, cloud(), kinds(false)...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir, kustomize = generated(t, p), tool(t, filepath.Join("testdata", "helm"), "kustomize")

	return dir, kustomize, printed(t, dir, kustomize, filepath.Join("deploy", "base"))
}

// TestBase lets kustomize make what is deployed without a chart: it is what the chart makes by
// default, and a namespace.
func TestBase(t *testing.T) {
	const (
		name    = "provider-cloud"
		metrics = "--metrics-bind-address=:8080" // which is where they are without a flag
	)

	dir, _, base := kustomized(t)
	chart := printed(t, dir, tool(t, filepath.Join("testdata", "helm"), "helm"), "template", name,
		filepath.Join("deploy", "chart"), "--namespace", name)

	_, container := pod(chart["Deployment "+name])
	args := container["args"].([]any)

	if i := slices.Index(args, any(metrics)); i < 0 || !strings.Contains(string(made(t, "internal/provider/provider.go")),
		`MetricsAddress:   ":8080"`) {
		t.Errorf("the chart says otherwise than the program where metrics are: %v", args)
	} else {
		container["args"] = slices.Delete(args, i, i+1)
	}

	got, want := shared(t, base), shared(t, chart)
	want["Namespace"] = got["Namespace"]

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-the chart, +the base:\n%s", diff)
	}
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

	overlay(t, dir, "base")

	over := printed(t, dir, kustomize, "overlay")

	if _, container := pod(
		over["Deployment provider-cloud"]); container["image"] != "registry.example.org/provider-cloud:v1.2.3" {
		t.Errorf("the image is %v", container["image"])
	} else {
		_, was := pod(base["Deployment provider-cloud"])
		container["image"] = was["image"]
	}

	maps.DeleteFunc(base, func(what string, _ object) bool { return strings.HasPrefix(what, "MutatingAdmissionPolicy") })

	if diff := cmp.Diff(base, over); diff != "" {
		t.Errorf("-the base without the policy, +the overlay:\n%s", diff)
	}
}

// overlay makes the overlay that the kustomization in a folder of deploy shows in its comment.
func overlay(t *testing.T, dir, folder string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(dir, "deploy", folder, "kustomization.yaml"))
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

	if err := os.WriteFile(filepath.Join(dir, "overlay", "kustomization.yaml"), []byte(strings.Join(lines, "\n")),
		0o600); err != nil {
		t.Fatal(err)
	}
}
