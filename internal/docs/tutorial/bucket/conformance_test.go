package bucket_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/internal/docs/tutorial/api/v1alpha1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/bucket"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/objectstore"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const secret = "let-me-in"

// A probe reads and changes the object store without the provider. Its Client uses another
// server than the provider, to which no fault is injected.
type probe struct {
	*objectstore.Fake
	objectstore.Client

	proxyStatus *atomic.Int32 // of the response of a proxy to the provider; 0: no proxy
	reset       *atomic.Bool  // whether connections of the provider are reset before the response
}

// newProbe starts an object store. It returns a probe, and the client for the provider.
func newProbe(t *testing.T) (probe, objectstore.Client) {
	t.Helper()
	p := probe{
		Fake: &objectstore.Fake{Token: secret}, proxyStatus: &atomic.Int32{}, reset: &atomic.Bool{},
	}
	serve := func(h http.Handler) objectstore.Client {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)

		return objectstore.Client{URL: server.URL, Token: secret}
	}
	p.Client = serve(p.Fake)

	return p, serve(http.HandlerFunc(p.serveProvider))
}

// serveProvider serves the provider, with the faults that are injected.
func (p probe) serveProvider(w http.ResponseWriter, r *http.Request) {
	if status := int(p.proxyStatus.Load()); status != 0 {
		http.Error(w, "<html>Error page of a proxy</html>", status)

		return
	}
	if p.reset.Load() {
		p.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	p.ServeHTTP(w, r)
}

// List returns all buckets.
func (p probe) List(context.Context) ([]conformance.Resource, error) {
	var out []conformance.Resource
	for _, b := range p.Buckets() {
		out = append(out, conformance.Resource{ID: b.Name, State: map[string]string{
			"quota": strconv.Itoa(int(b.QuotaGiB)), "versioning": strconv.FormatBool(b.Versioning), "tag": b.Tag,
		}})
	}

	return out, nil
}

// Remove deletes a bucket.
func (p probe) Remove(ctx context.Context, id string) error {
	err := p.Delete(ctx, id)
	if errors.Is(err, objectstore.ErrNotFound) {
		return nil
	}

	return err
}

// Make creates a bucket that has no owner.
func (p probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	b := objectstore.Bucket{Name: meta.GetExternalName(mg), QuotaGiB: 30}

	return b.Name, p.Create(ctx, b)
}

// Drift changes the quota of a bucket.
func (p probe) Drift(ctx context.Context, id string) error {
	b, err := p.Get(ctx, id)
	if err != nil {
		return err
	}
	b.QuotaGiB += 10

	return p.Update(ctx, b)
}

// Misroute has a proxy respond to the provider, with an error page of its own.
func (p probe) Misroute(_ context.Context, status int) (func(context.Context) error, error) {
	p.proxyStatus.Store(int32(status))

	return func(context.Context) error {
		p.proxyStatus.Store(0)

		return nil
	}, nil
}

// Break makes the object store unavailable.
func (p probe) Break(ctx context.Context) (func(context.Context) error, error) {
	return p.Misroute(ctx, http.StatusServiceUnavailable)
}

// Silence has the object store process requests and reset the connection before it responds.
func (p probe) Silence(context.Context) (func(context.Context) error, error) {
	p.reset.Store(true)

	return func(context.Context) error {
		p.reset.Store(false)

		return nil
	}, nil
}

func sample(name string) *v1alpha1.Bucket {
	return &v1alpha1.Bucket{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1alpha1.BucketSpec{QuotaGiB: 40},
	}
}

func TestConformance(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	p, store := newProbe(t)
	stamp := func(b *v1alpha1.Bucket) managed.Stamp {
		return managed.NewStamp("cluster", v1alpha1.GroupVersion.WithKind("Bucket").GroupKind(), b)
	}

	conformance.Run(t, conformance.Suite{
		Kind:   v1alpha1.BucketKind,
		Scheme: scheme,
		NewConnecter: func() managed.ExternalConnecter {
			return managed.Untyped(bucket.Connector{Store: store, Stamp: stamp})
		},
		Class:   conformance.Named,
		Options: []managed.ReconcilerOption{managed.WithCreationGracePeriod(0), managed.WithKstatusConditions()},
		Samples: []resource.Managed{sample("logs"), sample("logs-2")},
		Mutations: []conformance.Mutation{{
			Name:   "larger",
			Change: func(mg resource.Managed) { mg.(*v1alpha1.Bucket).Spec.QuotaGiB = 50 },
			Want:   map[string]string{"quota": "50"},
		}},
		Probe:   p,
		Secrets: []string{secret},
	})
}
