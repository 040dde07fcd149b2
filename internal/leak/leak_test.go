package leak

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// What ends after a while is waited for, and what stays is told.
func TestAwait(t *testing.T) {
	before := []goleak.Option{goleak.IgnoreCurrent()}
	end := make(chan struct{})
	go func() { <-end }()
	if await(0, before) {
		t.Error("a goroutine is there, and is not found")
	}
	time.AfterFunc(2*time.Second, func() { close(end) })
	if !await(wait.Patience(), before) {
		t.Error("a goroutine that has ended is found")
	}
	VerifyNone(t, before...)
}

// An informer of several namespaces that never syncs leaves goroutines for ever. Informers
// leaves them alone, and nothing else does.
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

	if await(0, []goleak.Option{before}) {
		t.Error("controller-runtime leaves nothing any more: Informers need not ignore it")
	}
	if !await(0, append(Informers(), before)) {
		t.Error("Informers does not leave alone what controller-runtime leaves")
	}
}

func TestMain(m *testing.M) { VerifyTestMain(m, Informers()...) }
