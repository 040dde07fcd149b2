package install_test

import (
	"context"
	"fmt"
	"strings"
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

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/install"
)

const group = "example.org"

func definition(plural, cluster string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, `+
		`metadata: {name: %s.%s, labels: {openmcp.cloud/cluster: %s}}, spec: {group: %s}}`, plural, group, cluster, group)
}

func newCluster(t *testing.T, o ...client.Object) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	s.AddKnownTypeWithName(schema.GroupVersionKind{
		Group: "openmcp.cloud", Version: "v1alpha1", Kind: "ServiceProvider",
	}, &unstructured.Unstructured{})

	return serving{fake.NewClientBuilder().WithScheme(s).WithObjects(o...).WithStatusSubresource(o...).Build(),
		func(int) metav1.ConditionStatus { return metav1.ConditionTrue }, new(int)}
}

// serving is a client of a cluster that sets, at each read of a definition, whether that is established.
type serving struct {
	client.Client

	says  func(look int) metav1.ConditionStatus
	looks *int
}

func (s serving) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := s.Client.Get(ctx, key, o, opts...)
	if u, ok := o.(*unstructured.Unstructured); ok && u.GetKind() == "CustomResourceDefinition" && err == nil {
		*s.looks++
		return unstructured.SetNestedSlice(u.Object, []any{
			map[string]any{
				"type": "NamesAccepted", "status": string(s.says(*s.looks)),
				"message": "the plural is taken",
			},
			map[string]any{"type": "Established", "status": string(s.says(*s.looks))},
		}, "status", "conditions")
	}

	return err
}

// TestEstablished: CRDs returns when the applied definitions are served, and names those that are not when the
// context ends.
func TestEstablished(t *testing.T) {
	files := fstest.MapFS{"a.yaml": {Data: []byte(definition("backups", "onboarding"))}}
	slow := newCluster(t).(serving)
	slow.says = func(look int) metav1.ConditionStatus {
		if look < 3 {
			return metav1.ConditionUnknown
		}

		return metav1.ConditionTrue
	}
	if err := install.CRDs(t.Context(), files, map[string]client.Client{install.Onboarding: slow}); err != nil ||
		*slow.looks != 3 {
		t.Errorf("want it awaited, got %v after %d looks", err, *slow.looks)
	}
	never := newCluster(t).(serving)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	never.says = func(look int) metav1.ConditionStatus {
		if look == 2 {
			cancel()
		}

		return metav1.ConditionFalse
	}
	err := install.CRDs(ctx, files, map[string]client.Client{install.Onboarding: never})
	if !errors.Is(err, install.ErrNotEstablished) || !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "backups.example.org (the plural is taken)") {
		t.Errorf("got %v", err)
	}
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
		if diff := cmp.Diff([][]string{{"configs.example.org"}, {"backups.example.org"}},
			[][]string{names(t, platform), names(t, onboarding)}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestNothingIsAppliedByHalves: a file that cannot be applied is an error before anything is.
func TestNothingIsAppliedByHalves(t *testing.T) {
	for name, bad := range map[string]string{
		"no cluster":    definition("others", "workload"),
		"no definition": `{apiVersion: v1, kind: Secret, metadata: {name: a}}`, "no YAML": "a: b: c",
	} {
		onboarding := newCluster(t)
		files := fstest.MapFS{
			"a.yaml": {Data: []byte(definition("backups", "onboarding"))},
			"b.yaml": {Data: []byte(bad)},
		}
		if err := install.CRDs(t.Context(), files,
			map[string]client.Client{install.Onboarding: onboarding}); err == nil || len(names(t, onboarding)) != 0 {
			t.Errorf("%s: want an error and nothing applied, got %v, %v", name, err, names(t, onboarding))
		}
	}
}

// TestRegisterKinds: the status of the ServiceProvider names the kinds.
func TestRegisterKinds(t *testing.T) {
	sp := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "openmcp.cloud/v1alpha1", "kind": "ServiceProvider",
		"metadata": map[string]any{"name": "backup"},
	}}
	platform := newCluster(t, sp)
	if err := install.RegisterKinds(t.Context(), platform, "backup",
		metav1.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Backup"}); err != nil {
		t.Fatal(err)
	}
	if err := platform.Get(t.Context(), client.ObjectKeyFromObject(sp), sp); err != nil {
		t.Fatal(err)
	}
	got, _, err := unstructured.NestedSlice(sp.Object, "status", "resources")
	if diff := cmp.Diff([]any{map[string]any{"group": "example.org", "version": "v1", "kind": "Backup"}},
		got); diff != "" || err != nil {
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
