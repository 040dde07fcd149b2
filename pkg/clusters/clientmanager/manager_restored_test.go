package clientmanager

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// restoredServer is an API server with version 219.
type restoredServer struct{}

// RoundTrip responds with a list of that version.
func (restoredServer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"metadata":{"resourceVersion":"219"}}`)),
		Request: r,
	}, nil
}

// TestRefreshAfterRestore verifies that Refresh reports once that a client was replaced
// because the API server was restored, although the time of the client is the same.
func TestRefreshAfterRestore(t *testing.T) {
	built := 0
	cache := clusters.NewCache(func(_ context.Context, _ clusters.Key, in clusters.Input) (http.RoundTripper, error) {
		built++

		return in.RESTConfig.WrapTransport(restoredServer{}), nil
	}, clusters.CacheOptions[http.RoundTripper]{})
	t.Cleanup(cache.Close)
	cache.Set(east, clusters.Input{
		Revision: "a", ConnectedAt: *at(1), RESTConfig: &rest.Config{Host: "https://east.example"},
	})
	m, c := NewClientManager[http.RoundTripper](cache), connected(at(1))
	client, err := m.GetK8sClient(app, c)
	if err != nil || m.Refresh(app, c) {
		t.Fatalf("nothing has changed, and there is a client: %v", err)
	}
	for range 3 {
		request, err := http.NewRequestWithContext(
			t.Context(), http.MethodGet, "https://east.example/api/v1/pods?watch=true&resourceVersion=874", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	if _, err := m.GetK8sClient(app, c); !errors.Is(err, StaleClientError) {
		t.Errorf("before the Refresh: want %v, got %v", StaleClientError, err)
	}
	if !m.Refresh(app, c) || m.Refresh(app, c) {
		t.Error("want one change")
	}
	if _, err := m.GetK8sClient(app, c); err != nil || built != 2 {
		t.Errorf("%d clients were made, want two: %v", built, err)
	}
	if _, err := m.GetK8sClient(app, connected(at(2))); !errors.Is(err, StaleClientError) {
		t.Errorf("of another time: want %v, got %v", StaleClientError, err)
	}
}
