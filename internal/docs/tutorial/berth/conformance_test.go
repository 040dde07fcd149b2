package berth_test

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
	"github.com/moorage-dev/moorage/internal/docs/tutorial/berth"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/harbour"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const secret = "let-me-in"

// An office is the external system, as somebody sees it who needs no provider: its Client
// asks at another address than the provider, where nothing goes wrong.
type office struct {
	*harbour.Fake
	harbour.Client

	page   *atomic.Int32 // the status of a page that answers the provider instead, or 0
	silent *atomic.Bool
}

// open returns an office, and the client of a provider.
func open(t *testing.T) (office, harbour.Client) {
	t.Helper()
	o := office{Fake: &harbour.Fake{Token: secret}, page: &atomic.Int32{}, silent: &atomic.Bool{}}
	address := func(h http.Handler) harbour.Client {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)

		return harbour.Client{URL: server.URL, Token: secret}
	}
	o.Client = address(o.Fake)

	return o, address(http.HandlerFunc(o.answer))
}

// answer answers the provider.
func (o office) answer(w http.ResponseWriter, r *http.Request) {
	if status := int(o.page.Load()); status != 0 {
		http.Error(w, "<html>It is not here.</html>", status)

		return
	}
	if o.silent.Load() {
		o.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // the line breaks before the answer
	}
	o.ServeHTTP(w, r)
}

// List returns all berths.
func (o office) List(context.Context) ([]conformance.Resource, error) {
	var out []conformance.Resource
	for _, b := range o.Berths() {
		out = append(out, conformance.Resource{ID: b.Name, State: map[string]string{
			"metres": strconv.Itoa(int(b.Metres)), "power": strconv.FormatBool(b.Power), "note": b.Note,
		}})
	}

	return out, nil
}

// Remove takes a berth away.
func (o office) Remove(ctx context.Context, id string) error {
	err := o.Delete(ctx, id)
	if errors.Is(err, harbour.ErrNotFound) {
		return nil
	}

	return err
}

// Make gives a berth to an anonymous owner.
func (o office) Make(ctx context.Context, mg resource.Managed) (string, error) {
	b := harbour.Berth{Name: meta.GetExternalName(mg), Metres: 30}

	return b.Name, o.Create(ctx, b)
}

// Drift makes a berth longer.
func (o office) Drift(ctx context.Context, id string) error {
	b, err := o.Get(ctx, id)
	if err != nil {
		return err
	}
	b.Metres += 10

	return o.Update(ctx, b)
}

// Misroute has a proxy answer with a page of its own, which says nothing about a berth.
func (o office) Misroute(_ context.Context, status int) (func(context.Context) error, error) {
	o.page.Store(int32(status))

	return func(context.Context) error {
		o.page.Store(0)

		return nil
	}, nil
}

// Break closes the office.
func (o office) Break(ctx context.Context) (func(context.Context) error, error) {
	return o.Misroute(ctx, http.StatusServiceUnavailable)
}

// Silence lets the office do what it is asked for, and cuts off what it answers.
func (o office) Silence(context.Context) (func(context.Context) error, error) {
	o.silent.Store(true)

	return func(context.Context) error {
		o.silent.Store(false)

		return nil
	}, nil
}

func sample(name string) *v1alpha1.Berth {
	return &v1alpha1.Berth{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1alpha1.BerthSpec{Metres: 40}}
}

func TestConformance(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	o, client := open(t)
	stamp := func(b *v1alpha1.Berth) managed.Stamp {
		return managed.NewStamp("cluster", v1alpha1.GroupVersion.WithKind("Berth").GroupKind(), b)
	}

	conformance.Run(t, conformance.Suite{
		Kind:   v1alpha1.BerthKind,
		Scheme: scheme,
		NewConnecter: func() managed.ExternalConnecter {
			return managed.Untyped(berth.Connector{Harbour: client, Stamp: stamp})
		},
		Class:   conformance.Named,
		Options: []managed.ReconcilerOption{managed.WithCreationGracePeriod(0), managed.WithKstatusConditions()},
		Samples: []resource.Managed{sample("victory"), sample("victory-2")},
		Mutations: []conformance.Mutation{{
			Name:   "longer",
			Change: func(mg resource.Managed) { mg.(*v1alpha1.Berth).Spec.Metres = 50 },
			Want:   map[string]string{"metres": "50"},
		}},
		Probe:   o,
		Secrets: []string{secret},
	})
}
