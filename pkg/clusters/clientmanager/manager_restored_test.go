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

// A server has version 219, whatever it is asked for.
type server struct{}

func (server) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"metadata":{"resourceVersion":"219"}}`)), Request: r}, nil
}

// TestRestored: an object is told, once, that the client it was given was made anew because
// the API server was restored, although the time of the client is the same.
func TestRestored(t *testing.T) {
	built := 0
	cache := clusters.NewCache(func(_ context.Context, _ clusters.Key, in clusters.Input) (http.RoundTripper, error) {
		built++

		return in.RESTConfig.WrapTransport(server{}), nil
	}, clusters.CacheOptions[http.RoundTripper]{})
	t.Cleanup(cache.Close)
	cache.Set(east, clusters.Input{Revision: "a", ConnectedAt: *at(1), RESTConfig: &rest.Config{Host: "https://east.example"}})
	m, c := NewClientManager[http.RoundTripper](cache), connected(at(1))
	client, err := m.GetK8sClient(boat, c)
	if err != nil || m.Refresh(boat, c) {
		t.Fatalf("nothing has changed, and there is a client: %v", err)
	}
	for range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://east.example/api/v1/pods?watch=true&resourceVersion=874", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	if _, err := m.GetK8sClient(boat, c); !errors.Is(err, StaleClientError) {
		t.Errorf("before it was told: want %v, got %v", StaleClientError, err)
	}
	if !m.Refresh(boat, c) || m.Refresh(boat, c) {
		t.Error("it is told once")
	}
	if _, err := m.GetK8sClient(boat, c); err != nil || built != 2 {
		t.Errorf("%d clients were made, want two: %v", built, err)
	}
	if _, err := m.GetK8sClient(boat, connected(at(2))); !errors.Is(err, StaleClientError) {
		t.Errorf("of another time: want %v, got %v", StaleClientError, err)
	}
}
