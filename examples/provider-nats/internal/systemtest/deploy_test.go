package systemtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
)

// kustomization is the name of the file that lists the others of its folder.
const kustomization = "kustomization.yaml"

// read reads a YAML file.
func read(t *testing.T, path string, into any) {
	t.Helper()

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("cannot parse %s: %v", path, err)
	}
}

// listed returns the files of a kustomization, including those of folders.
func listed(t *testing.T, dir string) []string {
	t.Helper()

	var list struct{ Resources []string }
	read(t, filepath.Join(dir, kustomization), &list)

	var out []string

	for _, name := range list.Resources {
		path := filepath.Join(dir, name)

		info, err := os.Stat(path)

		switch {
		case err != nil:
			t.Errorf("%s lists a missing file: %v", filepath.Join(dir, kustomization), err)
		case info.IsDir():
			out = append(out, listed(t, path)...)
		default:
			out = append(out, path)
		}
	}

	return out
}

// TestDeploy sends the manifests to an API server as a dry run: unknown fields are refused, and nothing is
// stored.
func TestDeploy(t *testing.T) {
	kube := ctrlclient.WithFieldValidation(kube, metav1.FieldValidationStrict)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: provider.Name}}
	if err := kube.Create(t.Context(), namespace); ctrlclient.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}

	files := slices.Concat(listed(t, filepath.Join("..", "..", "deploy", "base")),
		listed(t, filepath.Join("..", "..", "deploy", "plan")))

	for _, path := range files {
		obj := &unstructured.Unstructured{}
		read(t, path, &obj.Object)

		if err := kube.Create(t.Context(), obj, ctrlclient.DryRunAll); ctrlclient.IgnoreAlreadyExists(err) != nil {
			t.Errorf("%s: %v", path, err)
		}
	}

	var all []string

	for _, folder := range []string{"package/*", "deploy/base", "deploy/plan"} {
		found, err := filepath.Glob(filepath.Join("..", "..", folder, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}

		all = append(all, found...)
	}

	for _, path := range all {
		if filepath.Base(path) != kustomization && !slices.Contains(files, path) {
			t.Errorf("%s is not deployed", path)
		}
	}
}
