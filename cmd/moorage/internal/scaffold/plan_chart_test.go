//go:build !race

// As with chart_test.go, what is tested here are other programs.

package scaffold_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// planJob checks the Job that shows before an upgrade what it would change: its arguments, and its role, which is that
// of deploy/plan.
func planJob(t *testing.T, dir, helm, chart, name string) {
	t.Helper()

	made := renderedBy(t, helm, chart, "--set", "plan.enabled=true,plan.args={--all},manager.args={--allow-hosts=a}",
		"--set", "manager.envOverrides.A=two,manager.nodeSelector.disk=fast,manager.imagePullSecrets[0].name=pull")
	job, deployment := made["Job "+name+"-plan"], made["Deployment "+name]
	spec, container := pod(job)
	deployed, provider := pod(deployment)

	if diff := cmp.Diff([]any{"--allow-hosts=a", "plan", "--all"}, container["args"]); diff != "" {
		t.Errorf("flags of the provider come before the command, and those of the command after it: -want, +got:\n%s", diff)
	}

	for _, part := range []string{"image", "imagePullPolicy", "env", "envFrom", "resources", "securityContext"} {
		if diff := cmp.Diff(provider[part], container[part]); diff != "" {
			t.Errorf("%s: -of the provider, +of the Job:\n%s", part, diff)
		}
	}

	for _, part := range []string{"securityContext", "nodeSelector", "imagePullSecrets"} {
		if diff := cmp.Diff(deployed[part], spec[part]); diff != "" {
			t.Errorf("%s: -of the provider, +of the Job:\n%s", part, diff)
		}
	}

	if within(deployment.at("spec", "selector", "matchLabels"), job.at("spec", "template", "metadata", "labels")) {
		t.Error("the pods of the Job count as the provider")
	}

	if job.at("metadata", "annotations", "helm.sh/hook") != "pre-upgrade" ||
		job.at("spec", "backoffLimit") != float64(0) || spec["restartPolicy"] != "Never" {
		t.Errorf("it does not run once before an upgrade: %v", job)
	}

	subject := []any{map[string]any{"kind": "ServiceAccount", "name": name + "-plan", "namespace": "providers"}}
	if diff := cmp.Diff(subject, made["ClusterRoleBinding "+name+"-plan"]["subjects"]); diff != "" ||
		spec["serviceAccountName"] != name+"-plan" {
		t.Errorf("the Job runs as %v, and the role is bound: -want, +got:\n%s", spec["serviceAccountName"], diff)
	}

	packaged := packagedPlanRole(t, dir)
	if diff := cmp.Diff(packaged, rights(t, made["ClusterRole "+name+"-plan"])); diff != "" {
		t.Errorf("-in deploy/plan, +in the chart:\n%s", diff)
	}

	for _, right := range packaged {
		_, verbs, _ := strings.Cut(right, ": ")
		for _, verb := range strings.Fields(verbs) {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("the role permits more than to read: %s", right)
			}
		}
	}

	planByNamespace(t, helm, chart, name, rights(t, made["ClusterRole "+name+"-plan"]))
}

// packagedPlanRole returns what the role of deploy/plan permits.
func packagedPlanRole(t *testing.T, dir string) []string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(dir, "deploy", "plan", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	var role object
	if err := yaml.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}

	return rights(t, role)
}

// planByNamespace restricts the provider to namespaces: the Job plans these, has a Role in each, and together with the
// ClusterRole the same rights.
func planByNamespace(t *testing.T, helm, chart, name string, everywhere []string) {
	t.Helper()

	made := rendered(t, helm, chart, "plan.enabled=true", "rbac.namespaces={team-b,team-a}")
	_, container := pod(made["Job "+name+"-plan"])

	if diff := cmp.Diff([]any{"plan", "--namespace=team-b,team-a"}, container["args"]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	for _, namespace := range []string{"team-a", "team-b"} {
		role := made["Role "+name+"-plan in "+namespace]
		all := slices.Concat(rights(t, role), rights(t, made["ClusterRole "+name+"-plan"]))

		if diff := cmp.Diff(everywhere, slices.Sorted(slices.Values(all))); diff != "" {
			t.Errorf("in %s: -in all namespaces, +in this one:\n%s", namespace, diff)
		}

		if made["RoleBinding "+name+"-plan in "+namespace].at("roleRef", "name") != name+"-plan" {
			t.Errorf("in %s the role is not bound", namespace)
		}
	}

	if made["Role "+name+"-plan in providers"] != nil {
		t.Error("the plan has a role in the namespace of the release, which the provider does not serve")
	}
}

// TestPlanKustomization lets kustomize make the Job of deploy/plan: it is what the chart makes. An overlay, as its
// comment says, names the image.
func TestPlanKustomization(t *testing.T) {
	const name = "provider-cloud"

	dir, kustomize, _ := kustomized(t)
	chart := printed(t, dir, tool(t, filepath.Join("testdata", "helm"), "helm"), "template", name,
		filepath.Join("deploy", "chart"), "--namespace", name, "--set", "plan.enabled=true", "--show-only",
		"templates/plan.yaml")
	made := printed(t, dir, kustomize, filepath.Join("deploy", "plan"))

	parts := func(all map[string]object) map[string]object {
		out := map[string]object{}
		for what, o := range all {
			out[what] = object{"namespace": o.at("metadata", "namespace")}
			for _, part := range []string{"rules", "roleRef", "subjects"} {
				out[what][part] = o[part]
			}

			if o["kind"] == "Job" {
				spec, container := pod(o)
				delete(container, "image")
				delete(container, "imagePullPolicy") // by default it depends on the image

				out[what]["pod"], out[what]["backoffLimit"] = spec, o.at("spec", "backoffLimit")
			}
		}

		return out
	}
	if diff := cmp.Diff(parts(chart), parts(made)); diff != "" || len(made) != 4 {
		t.Errorf("%d objects; -the chart, +deploy/plan:\n%s", len(made), diff)
	}

	overlay(t, dir, "plan")

	_, container := pod(printed(t, dir, kustomize, "overlay")["Job "+name+"-plan"])
	if container["image"] != "registry.example.org/provider-cloud:v1.2.3" {
		t.Errorf("the image is %v", container["image"])
	}
}

// TestExamplePlans renders the Jobs of the examples: provider-nats has commands, and no flags before them.
func TestExamplePlans(t *testing.T) {
	helm := tool(t, filepath.Join("testdata", "helm"), "helm")

	for name, before := range map[string][]any{"provider-nats": {}, "provider-postgres": {"--poll=5m"}} {
		dir := filepath.Join(repository, "examples", name)
		made := rendered(t, helm, filepath.Join(dir, "deploy", "chart"), "plan.enabled=true", "manager.args={--poll=5m}",
			"plan.args={--all}")

		_, container := pod(made["Job cloud-"+name+"-plan"])
		if diff := cmp.Diff(append(before, "plan", "--all"), container["args"]); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}

		if diff := cmp.Diff(packagedPlanRole(t, dir), rights(t, made["ClusterRole cloud-"+name+"-plan"])); diff != "" {
			t.Errorf("%s: -in deploy/plan, +in the chart:\n%s", name, diff)
		}
	}
}
