//go:build !race

// What is tested here are other programs, which the race detector does not see: once is
// enough.

package scaffold_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/pinned"
)

// tool returns the path of a program that a go.mod pins, which is compiled if it has to be.
func tool(t *testing.T, dir, name string) string {
	t.Helper()

	path, err := pinned.Tool(dir, name)
	if err != nil {
		t.Fatal(err)
	}

	return path
}

// An object is one that a chart, or a base, makes.
type object map[string]any

// at returns what is at a path of names, or nil.
func (o object) at(path ...string) any {
	var v any = map[string]any(o)

	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}

		v = m[name]
	}

	return v
}

// rendered returns what a chart makes of values, by kind and name.
func rendered(t *testing.T, helm, chart string, values ...string) map[string]object {
	t.Helper()

	var flags []string
	for _, v := range values {
		flags = append(flags, "--set", v)
	}

	return renderedBy(t, helm, chart, flags...)
}

func renderedBy(t *testing.T, helm, chart string, flags ...string) map[string]object {
	t.Helper()

	return printed(t, chart, helm, append([]string{"template", "cloud", chart, "--namespace", "providers"}, flags...)...)
}

// printed returns the objects that a program prints, by kind and name.
func printed(t *testing.T, dir, program string, args ...string) map[string]object {
	t.Helper()

	out, err := command(dir, program, args...).Output()
	if err != nil {
		exit := &exec.ExitError{}
		errors.As(err, &exit)
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, exit.Stderr)
	}

	all := map[string]object{}

	for text := range strings.SplitSeq("\n"+string(out), "\n---\n") {
		o := object{}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%s makes no YAML: %v\n%s", program, err, text)
		}

		switch what := fmt.Sprint(o["kind"], " ", o.at("metadata", "name")); {
		case o["kind"] == "Role", o["kind"] == "RoleBinding": // of which there may be one in each namespace
			all[fmt.Sprint(what, " in ", o.at("metadata", "namespace"))] = o
		case len(o) > 0:
			all[what] = o
		}
	}

	return all
}

// TestChart renders the chart of a provider with kinds of both scopes.
func TestChart(t *testing.T) {
	p, err := with(t, cloud(), kinds(false)...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir := generated(t, p)
	helm, chart := tool(t, filepath.Join("testdata", "helm"), "helm"), filepath.Join(dir, "deploy", "chart")

	run(t, chart, helm, "lint", "--strict", ".")

	const name = "cloud-provider-cloud"

	crds := []string{
		"CustomResourceDefinition archives.cloud.example.org", "CustomResourceDefinition buckets.cloud.example.org",
		"CustomResourceDefinition clusterproviderconfigs.cloud.example.org",
		"CustomResourceDefinition directories.cloud.example.org",
		"CustomResourceDefinition providerconfigs.cloud.example.org", "CustomResourceDefinition gateways.cloud.example.org",
	}
	const policy, binding = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"

	shown := []string{"ClusterRole " + name + "-metrics", "ClusterRole " + name + "-metrics-reader",
		"ClusterRoleBinding " + name + "-metrics"}
	rest := append([]string{
		"ClusterRole " + name, "ClusterRoleBinding " + name, "Deployment " + name, policy + " " + name, binding + " " + name,
		"Service " + name, "ServiceAccount " + name,
	}, shown...)
	all := slices.Sorted(slices.Values(slices.Concat(crds, rest)))

	without := func(what ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(o string) bool {
			return slices.Contains(what, strings.Fields(o)[0]) || slices.Contains(what, o)
		})
	}
	and := func(kinds ...string) []string {
		for i := range kinds {
			kinds[i] += " " + name
		}

		return slices.Sorted(slices.Values(append(kinds, all...)))
	}

	roles := func(namespaces ...string) []string {
		out := slices.Clone(all)
		for _, namespace := range namespaces {
			out = append(out, "Role "+name+" in "+namespace, "RoleBinding "+name+" in "+namespace)
		}

		return slices.Sorted(slices.Values(out))
	}

	cases := map[string]struct {
		values []string
		want   []string
		has    string // in the container
		hasNot string
	}{
		"Default": {nil, all, "--metrics-bind-address=:8080", "--namespace"},
		"NoManager": {[]string{"manager.enabled=false"}, without(append([]string{"Deployment", "Service"}, shown...)...),
			"", ""},
		"Digest": {[]string{"manager.image.repository=r/cloud", "manager.image.tag=v9",
			"manager.image.digest=sha256:ab"}, all, "r/cloud@sha256:ab", "v9"},
		"Image": {[]string{"manager.image.repository=r/cloud", "manager.image.tag=v9"}, all, "r/cloud:v9", ""},
		"Args":  {[]string{"manager.args={--poll=5m}"}, all, "--poll=5m", ""},
		"Env":   {[]string{"manager.env[0].name=A", "manager.env[0].value=one"}, all, "one", "two"},
		"EnvOverrides": {[]string{"manager.env[0].name=A", "manager.env[0].value=one", "manager.envOverrides.A=two"}, all,
			"two", "one"},
		"NoAdmission": {[]string{"admission.enabled=false"}, without(policy, binding), "", ""},
		"NoCRDs":      {[]string{"crd.enabled=false"}, rest, "", ""},
		"NoAccount":   {[]string{"serviceAccount.enabled=false"}, without("ServiceAccount"), "", ""},
		"NoMetrics": {[]string{"metrics.enabled=false"}, without(append([]string{"Service"}, shown...)...),
			"--metrics-bind-address=0", "containerPort:8080"},
		"Port": {[]string{"metrics.port=9090"}, all, "--metrics-bind-address=:9090", "8080"},
		"Open": {[]string{"metrics.secure=false"}, without(shown...), "--metrics-secure=false", ""},
		"Readers": {[]string{"metrics.readers[0].kind=ServiceAccount"},
			slices.Sorted(slices.Values(append([]string{"ClusterRoleBinding " + name + "-metrics-reader"}, all...))), "",
			"--metrics-secure"},
		"Prometheus": {[]string{"prometheus.enabled=true"}, and("ServiceMonitor", "PrometheusRule"), "", ""},
		"Policy":     {[]string{"networkPolicy.enabled=true"}, and("NetworkPolicy"), "", ""},
		"Plan": {[]string{"plan.enabled=true"}, slices.Sorted(slices.Values(append([]string{
			"ClusterRole " + name + "-plan", "ClusterRoleBinding " + name + "-plan", "Job " + name + "-plan",
			"ServiceAccount " + name + "-plan"}, all...))), "", "plan"},
		"Namespaced": {[]string{"rbac.namespaced=true"}, roles("providers"), "--namespace=providers", ""},
		"Namespaces": {[]string{"rbac.namespaces={team-b,team-a,team-b}"}, roles("providers", "team-b", "team-a"),
			"--namespace=team-b,team-a", ""},
		"Both": {[]string{"rbac.namespaced=true", "rbac.namespaces={team-b,providers}"}, roles("providers", "team-b"),
			"--namespace=providers,team-b", ""},
	}

	flags, err := command(dir, "go", "run", "./cmd/provider", "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("the provider does not say which flags it has: %v\n%s", err, flags)
	}

	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			got := rendered(t, helm, chart, tc.values...)

			if diff := cmp.Diff(slices.Sorted(slices.Values(tc.want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}

			text, _ := yaml.Marshal(got["Deployment "+name])
			if !strings.Contains(string(text), tc.has) || tc.hasNot != "" && strings.Contains(string(text), tc.hasNot) {
				t.Errorf("%q is to be in the deployment, and %q not:\n%s", tc.has, tc.hasNot, text)
			}

			for _, flag := range regexp.MustCompile(`(?m)^\s*- --([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
				if !strings.Contains(string(flags), "\n  -"+flag[1]) {
					t.Errorf("the provider has no flag --%s", flag[1])
				}
			}
		})
	}

	t.Run("Keep", func(t *testing.T) {
		for values, want := range map[string]any{"crd.keep=true": "keep", "crd.keep=false": nil} {
			for _, crd := range crds {
				if got := rendered(t, helm, chart, values)[crd].at("metadata", "annotations",
					"helm.sh/resource-policy"); got != want {
					t.Errorf("%s: the policy of %s is %v", values, crd, got)
				}
			}
		}
	})
	t.Run("Older", func(t *testing.T) {
		got := renderedBy(t, helm, chart, "--kube-version", "1.35.9")

		if diff := cmp.Diff(slices.Sorted(slices.Values(without(policy, binding))),
			slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("this Kubernetes does not know the policy: -want, +got:\n%s", diff)
		}
	})
	t.Run("Admission", func(t *testing.T) {
		var packaged object
		if err := yaml.Unmarshal(content(t, p, "package/admission/policy.yaml"), &packaged); err != nil {
			t.Fatal(err)
		}

		everywhere, here := rendered(t, helm, chart), rendered(t, helm, chart, "rbac.namespaced=true")

		if diff := cmp.Diff(packaged["spec"], everywhere[policy+" "+name]["spec"]); diff != "" {
			t.Errorf("the policy: -in package, +in the chart:\n%s", diff)
		}

		where := map[string]any{"namespaceSelector": map[string]any{"matchExpressions": []any{
			map[string]any{"key": "kubernetes.io/metadata.name", "operator": "In", "values": []any{"providers"}},
		}}}
		for _, tc := range []struct {
			made map[string]object
			want map[string]any
		}{
			{everywhere, map[string]any{"policyName": name}},
			{here, map[string]any{"policyName": name, "matchResources": where}},
		} {
			if diff := cmp.Diff(tc.want, tc.made[binding+" "+name]["spec"]); diff != "" {
				t.Errorf("the binding: -want, +got:\n%s", diff)
			}
		}
	})
	t.Run("Pod", func(t *testing.T) { podValues(t, helm, chart, name) })
	t.Run("Scraped", func(t *testing.T) {
		prometheus(t, dir, rendered(t, helm, chart, "prometheus.enabled=true", "metrics.port=9090"), name)
	})
	t.Run("Readers", func(t *testing.T) { readers(t, helm, chart, name) })
	t.Run("PlanJob", func(t *testing.T) { planJob(t, dir, helm, chart, name) })
	t.Run("RightsByNamespace", func(t *testing.T) { rightsByNamespace(t, helm, chart, name) })
	t.Run("Rights", func(t *testing.T) {
		everywhere, here := rendered(t, helm, chart), rendered(t, helm, chart, "rbac.namespaced=true")

		if diff := cmp.Diff(slices.Sorted(slices.Values(least)), rights(t, everywhere["ClusterRole "+name])); diff != "" {
			t.Errorf("the least rights are others: -want, +got:\n%s", diff)
		}

		if diff := cmp.Diff(everywhere["ClusterRole "+name]["rules"],
			here["Role "+name+" in providers"]["rules"]); diff != "" {
			t.Errorf("-in all namespaces, +in one:\n%s", diff)
		}

		var left []any
		for _, rule := range here["ClusterRole "+name]["rules"].([]any) {
			left = append(left, rule.(map[string]any)["resources"].([]any)...)
		}

		for _, resource := range left {
			plural, _, _ := strings.Cut(resource.(string), "/")
			if !slices.Contains([]string{"namespaces", "customresourcedefinitions", "gateways", "directories",
				"clusterproviderconfigs"}, plural) {
				t.Errorf("in all namespaces there are rights on %s", resource)
			}
		}

		if len(left) != 11 {
			t.Errorf(
				"what is in no namespace is namespaces, the definitions of four kinds, and each of three kinds with its status: %v",
				left)
		}
	})
}

// TestExampleChart renders the chart of the golden project, whose program has another command
// line, with all that is switched on by values, and what is switched off by a flag.
func TestExampleChart(t *testing.T) {
	example := filepath.Join(repository, "examples", "provider-nats")
	helm, chart := tool(t, filepath.Join("testdata", "helm"), "helm"), filepath.Join(example, "deploy", "chart")

	run(t, chart, helm, "lint", "--strict", ".")

	made := rendered(t, helm, chart, "rbac.namespaced=true", "metrics.secure=false", "prometheus.enabled=true",
		"networkPolicy.enabled=true")
	if len(made) != 6+7+2+2+1 {
		t.Errorf(
			"the chart makes %d objects, and not its 6 kinds, 7 that are always there, a role and its binding, 2 for "+
				"Prometheus and a policy of the network", len(made))
	}

	writes := func(values ...string) []string {
		return slices.DeleteFunc(rights(t, rendered(t, helm, chart, values...)["ClusterRole cloud-provider-nats"]),
			func(right string) bool {
				return !strings.HasPrefix(right, "/secrets: ")
			})
	}
	if with, without := writes(),
		writes("rbac.connectionSecrets=false"); !slices.Equal(with, []string{"/secrets: create get patch"}) ||
		!slices.Equal(without, []string{"/secrets: get"}) {
		t.Errorf("where connection Secrets are published the rights are %q, and elsewhere %q", with, without)
	}

	var known []byte

	for _, source := range []string{"internal/app/run.go", "internal/provider/election.go"} {
		text, err := os.ReadFile(filepath.Join(example, filepath.FromSlash(source)))
		if err != nil {
			t.Fatal(err)
		}

		known = append(known, text...)
	}

	text, err := yaml.Marshal(made["Deployment cloud-provider-nats"])
	if err != nil {
		t.Fatal(err)
	}

	flags := regexp.MustCompile(`(?m)^\s*- --([a-z-]+)`).FindAllSubmatch(text, -1)
	if len(flags) < 4 || !strings.Contains(string(text), "- run\n") {
		t.Errorf("the program is not run as it should be:\n%s", text)
	}

	for _, flag := range flags {
		if !bytes.Contains(known, []byte(`"`+string(flag[1])+`"`)) {
			t.Errorf("the provider has no flag --%s", flag[1])
		}
	}
}
