// Package informers tests leak.Informers in a package of its own: a module that uses leak need
// not require controller-runtime.
package informers

import (
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/moorage-dev/moorage/internal/leak"
)

// TestInformers checks that an informer of several namespaces that never syncs leaves goroutines forever, and that
// Informers ignores them.
func TestInformers(t *testing.T) {
	before := goleak.IgnoreCurrent()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := cache.New(&rest.Config{Host: "127.0.0.1:1"}, cache.Options{
		Scheme: scheme.Scheme, Mapper: mapper,
		DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	informer, err := c.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{}); err != nil {
		t.Fatal(err)
	}

	if goleak.Find(before) == nil {
		t.Error("controller-runtime leaves nothing any more: Informers need not ignore it")
	}
	if err := goleak.Find(append(leak.Informers(), before)...); err != nil {
		t.Errorf("Informers does not leave alone what controller-runtime leaves: %v", err)
	}
}

func TestMain(m *testing.M) { leak.VerifyTestMain(m, leak.Informers()...) }
