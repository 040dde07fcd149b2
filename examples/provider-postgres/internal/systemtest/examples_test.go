package systemtest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

// documents returns the objects of a file.
func documents(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()

	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()

	var out []*unstructured.Unstructured

	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		obj := &unstructured.Unstructured{}

		switch err := decoder.Decode(&obj.Object); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatalf("cannot parse %s: %v", path, err)
		case len(obj.Object) > 0: // not only a comment
			out = append(out, obj)
		}
	}
}

// namespaced gives an object the namespace in which it is applied, and creates that.
func namespaced(t *testing.T, kube ctrlclient.Client, obj *unstructured.Unstructured) {
	t.Helper()

	switch in, err := kube.IsObjectNamespaced(obj); {
	case err != nil:
		t.Fatal(err)
	case !in:
		return
	}

	if obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: obj.GetNamespace()}}
	if err := kube.Create(t.Context(), namespace); ctrlclient.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

// TestExamples sends the examples to an API server with the kinds as a dry run: unknown fields are refused,
// and nothing is stored.
func TestExamples(t *testing.T) {
	kube := ctrlclient.WithFieldValidation(testenv.Installed(t), metav1.FieldValidationStrict)

	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range files {
		for _, obj := range documents(t, path) {
			namespaced(t, kube, obj)

			if err := kube.Create(t.Context(), obj, ctrlclient.DryRunAll); ctrlclient.IgnoreAlreadyExists(err) != nil {
				t.Errorf("%s: the %s %s: %v", path, obj.GetKind(), obj.GetName(), err)
			}
		}
	}
}
