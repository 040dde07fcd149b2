package install_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/serviceprovider/install"
)

const group = "example.org"

func definition(plural, cluster string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.%s, labels: {openmcp.cloud/cluster: %s}}, spec: {group: %s}}`, plural, group, cluster, group)
}

func newCluster(t *testing.T, o ...client.Object) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	s.AddKnownTypeWithName(schema.GroupVersionKind{Group: "openmcp.cloud", Version: "v1alpha1", Kind: "ServiceProvider"}, &unstructured.Unstructured{})

	return fake.NewClientBuilder().WithScheme(s).WithObjects(o...).WithStatusSubresource(o...).Build()
}

func names(t *testing.T, c client.Client) (all []string) {
	t.Helper()
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, crd := range list.Items {
		all = append(all, crd.Name)
	}

	return all
}

// TestCRDs: each definition goes to the cluster that its label names, and what is there is
// brought up to date.
func TestCRDs(t *testing.T) {
	platform, onboarding := newCluster(t), newCluster(t)
	both := map[string]client.Client{install.Platform: platform, install.Onboarding: onboarding}
	for range 2 {
		files := fstest.MapFS{
			"a/backups.yaml": {Data: []byte(definition("backups", "onboarding"))},
			"configs.yaml":   {Data: []byte(definition("configs", "platform"))},
		}
		if err := install.CRDs(t.Context(), files, both); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"configs.example.org"}, {"backups.example.org"}}, [][]string{names(t, platform), names(t, onboarding)}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestNothingIsAppliedByHalves: a file that cannot be applied is an error before anything is.
func TestNothingIsAppliedByHalves(t *testing.T) {
	for name, bad := range map[string]string{
		"no cluster": definition("others", "workload"), "no definition": `{apiVersion: v1, kind: Secret, metadata: {name: a}}`, "no YAML": "a: b: c",
	} {
		onboarding := newCluster(t)
		files := fstest.MapFS{"a.yaml": {Data: []byte(definition("backups", "onboarding"))}, "b.yaml": {Data: []byte(bad)}}
		if err := install.CRDs(t.Context(), files, map[string]client.Client{install.Onboarding: onboarding}); err == nil || len(names(t, onboarding)) != 0 {
			t.Errorf("%s: want an error and nothing applied, got %v, %v", name, err, names(t, onboarding))
		}
	}
}

// TestRegisterKinds: the status of the ServiceProvider names the kinds.
func TestRegisterKinds(t *testing.T) {
	sp := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "openmcp.cloud/v1alpha1", "kind": "ServiceProvider", "metadata": map[string]any{"name": "backup"}}}
	platform := newCluster(t, sp)
	if err := install.RegisterKinds(t.Context(), platform, "backup", metav1.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Backup"}); err != nil {
		t.Fatal(err)
	}
	if err := platform.Get(t.Context(), client.ObjectKeyFromObject(sp), sp); err != nil {
		t.Fatal(err)
	}
	got, _, err := unstructured.NestedSlice(sp.Object, "status", "resources")
	if diff := cmp.Diff([]any{map[string]any{"group": "example.org", "version": "v1", "kind": "Backup"}}, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if err := install.RegisterKinds(t.Context(), platform, "another"); err == nil {
		t.Error("want an error without a ServiceProvider")
	}
}

func Example() {
	files := fstest.MapFS{"a.yaml": {Data: []byte(definition("backups", "workload"))}}
	fmt.Println(install.CRDs(context.Background(), files, nil))
	// Output:
	// a.yaml is for the cluster "workload", by its label openmcp.cloud/cluster, which is not known
}
