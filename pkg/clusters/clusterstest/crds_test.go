package clusterstest

import (
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/devcluster"
)

// A slow discovery knows no kinds when it is asked for them the first times.
type slow struct {
	client.Client

	left int
}

func (s *slow) RESTMapper() meta.RESTMapper {
	if s.left == 0 {
		return s.Client.RESTMapper()
	}
	s.left--

	return meta.NewDefaultRESTMapper(nil)
}

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
	late := &slow{c, 3}
	if err := InstallCRDs(t.Context(), late, clustersv1alpha1.CRDs()); err != nil || late.left != 0 {
		t.Errorf("got %v, and clients would not find the kinds for %d more looks", err, late.left)
	}
	for name, text := range map[string]string{"no YAML": "a: b: c", "no definition": "kind: nothing"} {
		if err := InstallCRDs(t.Context(), c, fstest.MapFS{"crd.yaml": {Data: []byte(text)}}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
