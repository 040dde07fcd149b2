package clusteraccess

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// A server has a version, whatever it is asked for.
type server struct{ version string }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(strings.NewReader(`{"metadata":{"resourceVersion":"` + s.version + `"}}`))

	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
}

// TestARestoreIsNoticed: the object is looked at whose cluster was restored to an earlier
// state, since what was brought there may be gone; and the platform is not asked for it.
func TestARestoreIsNoticed(t *testing.T) {
	b := newBoard(t)
	b.admitted()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := b.r.AccessSources()[0].Start(ctx, q); err != nil {
		t.Fatal(err)
	}
	access, err := b.r.Access(t.Context(), b.request, serviceprovider.ClusterWorkload)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{version: "874"}
	transport := access.Cluster.RESTConfig().WrapTransport(s)
	watch := func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://east.example/api/v1/pods?watch=true&resourceVersion=874", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	watch()
	watch()
	if q.Len() != 0 {
		t.Fatal("an object is looked at without a restore")
	}
	s.version = "219"
	watch()
	watch()
	if got, _ := q.Get(); q.Len() != 0 || got != b.request {
		t.Errorf("%s is looked at, and %d more, want %s alone", got, q.Len(), b.request)
	}
	again, err := b.r.Access(t.Context(), b.request, serviceprovider.ClusterWorkload)
	if err != nil || again.Cluster == access.Cluster || again.Revision != access.Revision {
		t.Errorf("want another connection of the same revision, got %+v, %v", again, err)
	}
}
