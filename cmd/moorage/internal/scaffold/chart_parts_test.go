//go:build !race

// As with chart_test.go, what is tested here are other programs.

package scaffold_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// least has all rights of a provider; add one here only with its reason.
var least = []string{
	`/events: create patch`, // events about objects
	`/namespaces kube-system: get`,
	`/secrets: get`, // credentials
	// whether a kind is being deleted, before what one of its objects stands for is
	`apiextensions.k8s.io/customresourcedefinitions archives.cloud.example.org: get`,
	`apiextensions.k8s.io/customresourcedefinitions buckets.cloud.example.org: get`,
	`apiextensions.k8s.io/customresourcedefinitions directories.cloud.example.org: get`,
	`apiextensions.k8s.io/customresourcedefinitions gateways.cloud.example.org: get`,
	`coordination.k8s.io/leases: create`,
	`coordination.k8s.io/leases provider-cloud.cloud.example.org: get update`,
	`cloud.example.org/archives/status: patch`,
	`cloud.example.org/archives: get list patch watch`,
	`cloud.example.org/buckets/status: patch`,
	`cloud.example.org/buckets: get list patch watch`,
	`cloud.example.org/clusterproviderconfigs/status: patch`,
	`cloud.example.org/clusterproviderconfigs: get list patch watch`,
	`cloud.example.org/directories/status: patch`,
	`cloud.example.org/directories: get list patch watch`,
	`cloud.example.org/providerconfigs/status: patch`,
	`cloud.example.org/providerconfigs: get list patch watch`,
	`cloud.example.org/gateways/status: patch`,
	`cloud.example.org/gateways: get list patch watch`,
	`events.k8s.io/events: create patch`,
}

// rights returns what the rules of a role allow, in lines of a resource, the only names of it
// if there are any, and the verbs.
func rights(t *testing.T, role object) []string {
	t.Helper()

	text, err := yaml.Marshal(role["rules"])
	if err != nil {
		t.Fatal(err)
	}

	var rules []struct{ APIGroups, Resources, ResourceNames, Verbs, NonResourceURLs []string }
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}

	verbs := map[string][]string{}

	for _, r := range rules {
		if len(r.NonResourceURLs) > 0 {
			t.Errorf("there are rights on %v, which are no objects", r.NonResourceURLs)
		}

		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				what := strings.TrimSpace(fmt.Sprint(group, "/", resource, " ", strings.Join(r.ResourceNames, " ")))
				verbs[what] = append(verbs[what], r.Verbs...)
			}
		}
	}

	var out []string
	for what, of := range verbs {
		out = append(out, what+": "+strings.Join(slices.Compact(slices.Sorted(slices.Values(of))), " "))
	}

	return slices.Sorted(slices.Values(out))
}

// rightsByNamespace keeps the provider to two namespaces that are not that of the release: it has
// its lease there, all else in those two, and what is in no namespace in all.
func rightsByNamespace(t *testing.T, helm, chart, name string) {
	t.Helper()

	made := rendered(t, helm, chart, "rbac.namespaces={team-b,team-a}")
	leases := func(right string) bool { return strings.HasPrefix(right, "coordination.k8s.io/leases") }

	here := slices.DeleteFunc(slices.Clone(least), func(right string) bool { return !leases(right) })
	there := slices.DeleteFunc(slices.Clone(least), leases)

	for namespace, want := range map[string][]string{"providers": here, "team-b": there, "team-a": there} {
		where := name + " in " + namespace

		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), rights(t, made["Role "+where])); diff != "" {
			t.Errorf("in %s: -want, +got:\n%s", namespace, diff)
		}

		binding := made["RoleBinding "+where]
		if diff := cmp.Diff(made["ClusterRoleBinding "+name]["subjects"], binding["subjects"]); diff != "" ||
			binding.at("roleRef", "kind") != "Role" {
			t.Errorf("in %s %v is bound: -want, +got:\n%s", namespace, binding["roleRef"], diff)
		}
	}

	anywhere := rendered(t, helm, chart, "rbac.namespaced=true")["ClusterRole "+name]
	if diff := cmp.Diff(anywhere["rules"], made["ClusterRole "+name]["rules"]); diff != "" {
		t.Errorf("in no namespace: -for one, +for two:\n%s", diff)
	}
}

// within reports whether labels match a selector.
func within(selector, labels any) bool {
	want, _ := selector.(map[string]any)
	has, _ := labels.(map[string]any)

	for name, value := range want {
		if has[name] != value {
			return false
		}
	}

	return len(want) > 0
}

// prometheus looks at what the operator of Prometheus reads: the rules are those of the file
// that TestAlerts plays, and what is scraped is where the provider has its metrics.
func prometheus(t *testing.T, dir string, made map[string]object, name string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(dir, "deploy", "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	var file object
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(file["spec"], made["PrometheusRule "+name]["spec"]); diff != "" {
		t.Errorf("the rules: -in the file, +in the chart:\n%s", diff)
	}

	monitor, service, deployment := made["ServiceMonitor "+name], made["Service "+name], made["Deployment "+name]

	if !within(monitor.at("spec", "selector", "matchLabels"), service.at("metadata", "labels")) {
		t.Errorf("the monitor does not find the service: %v, %v", monitor["spec"], service["metadata"])
	}

	if !within(service.at("spec", "selector"), deployment.at("spec", "template", "metadata", "labels")) {
		t.Errorf("the service does not find the pods: %v", service["spec"])
	}

	_, container := pod(deployment)
	inside := named(container["ports"])
	ports := named(service.at("spec", "ports"))

	for _, endpoint := range monitor.at("spec", "endpoints").([]any) {
		if e := endpoint.(map[string]any); e["scheme"] != "https" ||
			e["bearerTokenFile"] != "/var/run/secrets/kubernetes.io/serviceaccount/token" {
			t.Errorf("Prometheus shows no token by TLS: %v", e)
		}

		port := ports[endpoint.(map[string]any)["port"]]
		if target := inside[port["targetPort"]]; target == nil || target["containerPort"] != float64(9090) {
			t.Errorf("what is scraped leads to %v of the container, by %v", target, port)
		}
	}
}

// readers checks the access to metrics: the provider may review tokens and access, and the readers in the values may
// get the path.
func readers(t *testing.T, helm, chart, name string) {
	t.Helper()

	made := rendered(t, helm, chart,
		"metrics.readers[0].kind=ServiceAccount,metrics.readers[0].name=scraper,metrics.readers[0].namespace=monitoring")

	want := []string{"authentication.k8s.io/tokenreviews: create", "authorization.k8s.io/subjectaccessreviews: create"}
	if diff := cmp.Diff(want, rights(t, made["ClusterRole "+name+"-metrics"])); diff != "" {
		t.Errorf("the provider: -want, +got:\n%s", diff)
	}

	for role, subject := range map[string]map[string]any{
		name + "-metrics":        {"kind": "ServiceAccount", "name": name, "namespace": "providers"},
		name + "-metrics-reader": {"kind": "ServiceAccount", "name": "scraper", "namespace": "monitoring"},
	} {
		binding := made["ClusterRoleBinding "+role]
		if diff := cmp.Diff([]any{subject}, binding["subjects"]); diff != "" || binding.at("roleRef", "name") != role {
			t.Errorf("%v is bound: -want, +got:\n%s", binding["roleRef"], diff)
		}
	}

	reads := []any{map[string]any{"nonResourceURLs": []any{"/metrics"}, "verbs": []any{"get"}}}
	if diff := cmp.Diff(reads, made["ClusterRole "+name+"-metrics-reader"]["rules"]); diff != "" {
		t.Errorf("readers: -want, +got:\n%s", diff)
	}
}

// named returns the entries of a list by their names.
func named(list any) map[any]map[string]any {
	out := map[any]map[string]any{}

	for _, entry := range list.([]any) {
		e := entry.(map[string]any)
		out[e["name"]] = e
	}

	return out
}

// podValues sets all that says how and where the pods run, and looks for it.
func podValues(t *testing.T, helm, chart, name string) {
	t.Helper()

	affinity := map[string]any{"podAntiAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": []any{
		map[string]any{"topologyKey": "kubernetes.io/hostname"},
	}}}
	tolerations := []any{map[string]any{"key": "dedicated", "operator": "Exists"}}

	made := renderedBy(t, helm, chart,
		"--set",
		"manager.replicas=5,manager.image.pullPolicy=Always,manager.imagePullSecrets[0].name=pull,manager.envSecret=keys",
		"--set",
		"manager.resources.requests.cpu=2,manager.resources.limits.memory=1Gi,manager.podAnnotations.note=read "+
			"me,manager.terminationGracePeriodSeconds=90",
		"--set", "manager.nodeSelector.disk=fast,manager.tolerations[0].key=dedicated,manager.tolerations[0].operator=Exists",
		"--set", "manager.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."+
			"topologyKey=kubernetes.io/hostname",
		"--set", "serviceAccount.name=custom,serviceAccount.annotations.role=admin",
	)

	deployment := made["Deployment "+name]
	spec, container := pod(deployment)

	got := object{
		"replicas":    deployment.at("spec", "replicas"),
		"annotations": deployment.at("spec", "template", "metadata", "annotations"),
		"pullPolicy":  container["imagePullPolicy"], "envFrom": container["envFrom"], "resources": container["resources"],
		"account": made["ServiceAccount custom"].at("metadata", "annotations"),
	}
	for _, part := range []string{"serviceAccountName", "terminationGracePeriodSeconds", "imagePullSecrets",
		"nodeSelector", "tolerations", "affinity"} {
		got[part] = spec[part]
	}

	want := object{
		"replicas": float64(5), "annotations": map[string]any{"note": "read me"}, "pullPolicy": "Always",
		"envFrom": []any{map[string]any{"secretRef": map[string]any{"name": "keys", "optional": true}}},
		"resources": map[string]any{
			"requests": map[string]any{"cpu": float64(2), "memory": "64Mi"}, "limits": map[string]any{"memory": "1Gi"},
		},
		"account": map[string]any{"role": "admin"}, "serviceAccountName": "custom",
		"terminationGracePeriodSeconds": float64(90),
		"imagePullSecrets":              []any{map[string]any{"name": "pull"}},
		"nodeSelector":                  map[string]any{"disk": "fast"},
		"tolerations":                   tolerations, "affinity": affinity,
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-set, +got:\n%s", diff)
	}
}
