package clienthelper_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/clienthelper"
)

// indexed is a client whose pods are indexed by their nodes.
func indexed(nodes ...string) client.Client {
	b := fake.NewClientBuilder().WithScheme(clienthelper.DefaultScheme).
		WithIndex(&corev1.Pod{}, "node", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} })
	for i, node := range nodes {
		b = b.WithObjects(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("pod-", i)},
			Spec: corev1.PodSpec{NodeName: node}})
	}
	return b.Build()
}

// TestGetByIndex: one object is read, none and several are errors, and leave it as it was.
func TestGetByIndex(t *testing.T) {
	c := indexed("red", "blue", "blue")
	cases := map[string]struct {
		node string
		is   func(error) bool
		want string
	}{
		"One":     {"red", func(err error) bool { return err == nil }, "pod-0"},
		"None":    {"green", kerrors.IsNotFound, "before"},
		"Several": {"blue", kerrors.IsConflict, "before"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "before"}}
			if err := clienthelper.GetByIndex(t.Context(), c, pod, "node", tc.node); !tc.is(err) || pod.Name != tc.want {
				t.Errorf("got %s, %v", pod.Name, err)
			}
		})
	}
	if err := clienthelper.GetByIndex(t.Context(), c, &corev1.Pod{}, "none", "red"); err == nil {
		t.Error("there is no such index")
	}
	untyped := &unstructured.Unstructured{}
	untyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if err := clienthelper.GetByIndex(t.Context(), c, untyped, "node", "red"); err == nil {
		t.Error("a Pod was read into an Unstructured")
	}
}

// TestCurrent: the variables of a pod come first.
func TestCurrent(t *testing.T) {
	t.Setenv("NAMESPACE", "team-a")
	t.Setenv("POD_NAME", "red-0")
	namespace, err := clienthelper.CurrentNamespace()
	if err != nil || namespace != "team-a" {
		t.Errorf("got %q, %v", namespace, err)
	}
	name, err := clienthelper.CurrentPodName()
	if err != nil || name != "red-0" {
		t.Errorf("got %q, %v", name, err)
	}
}

func TestConvertExtra(t *testing.T) {
	plain := map[string][]string{"a": {"b", "c"}}
	if diff := cmp.Diff(map[string]authorizationv1.ExtraValue{"a": {"b", "c"}},
		clienthelper.ConvertExtra(plain)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(plain,
		clienthelper.ConvertExtraFrom(map[string]authenticationv1.ExtraValue{"a": {"b", "c"}})); diff != "" {
		t.Error(diff)
	}
}

func ExampleGetByIndex() {
	pod := &corev1.Pod{}
	err := clienthelper.GetByIndex(context.Background(), indexed("red"), pod, "node", "red")
	fmt.Println(pod.Name, err)
	// Output: pod-0 <nil>
}
