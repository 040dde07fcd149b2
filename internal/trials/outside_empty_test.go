package trials

import (
	"context"
	"net/http"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// Braces answers each request with success and {}, as some gateways do.
type braces struct{}

// RoundTrip answers a request.
func (braces) RoundTrip(*http.Request) (*http.Response, error) { return answer(map[string]any{}) }

// An emptier reads through braces once, and then from the API server.
type emptier struct {
	client.Reader

	first client.Reader
	asked bool
}

// Get reads.
func (e *emptier) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if !e.asked {
		e.asked = true

		return e.first.Get(ctx, key, o, opts...)
	}

	return e.Reader.Get(ctx, key, o, opts...)
}

// TestOutsideReadAnsweredEmpty answers the live read before a Create that needs no write with {}
// and the status 200. That is an error of the pass, and does not mean that the object is gone:
// the pass is repeated.
func TestOutsideReadAnsweredEmpty(t *testing.T) {
	in(t, named, func(w *world) {
		w.ready()
		config := newPlane(0).config()
		config.Transport = braces{}
		mapper := apimeta.NewDefaultRESTMapper(nil)
		mapper.Add(volume.GroupVersion.WithKind("Volume"), apimeta.RESTScopeNamespace)
		first, err := client.New(config, client.Options{Scheme: newScheme(w.t), Mapper: mapper})
		w.Must(err)
		e := &emptier{Reader: w.etcd, first: first}
		m := &fake.Manager{Client: w.etcd, Scheme: w.etcd.Scheme()}
		w.options = append(append([]managed.ReconcilerOption{}, w.options...), managed.WithCluster(cluster{m, e}))
		w.start()
		w.cloud.Remove(key.Name)
		w.run(20 * time.Minute)
		if !e.asked {
			w.Fatal("the API server itself was not asked")
		}
		w.isReady()
	})
}
