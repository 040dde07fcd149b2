package clusterstest

import (
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/devcluster"
)

func TestInstallCRDs(t *testing.T) {
	config, err := devcluster.Shared(t).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := InstallCRDs(t.Context(), c, clustersv1alpha1.CRDs()); err != nil {
			t.Error(err)
		}
	}
	for name, text := range map[string]string{"no YAML": "a: b: c", "no definition": "kind: nothing"} {
		if err := InstallCRDs(t.Context(), c, fstest.MapFS{"crd.yaml": {Data: []byte(text)}}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
