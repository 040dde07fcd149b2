package syncer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

// newScraper returns a function that requests metrics with a token, for a host that
// authenticates the token or not and allows every user. It counts the served requests and
// the requests to the host.
func newScraper(t *testing.T, known string) (scrape func() int, shown, asked *int) {
	t.Helper()
	shown, asked = new(int), new(int)
	filter, err := newMetricsFilter(&rest.Config{
		Host: "http://host", QPS: -1, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			*asked++
			text := `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`
			if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
				text = `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"authenticated":` + known + `}}`
			}
			answer := httptest.NewRecorder()
			answer.Header().Set("Content-Type", "application/json")
			_, _ = answer.WriteString(text)
			return answer.Result(), nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { *shown++ }))
	if err != nil {
		t.Fatal(err)
	}
	return func() int {
		request, answer := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody), httptest.NewRecorder()
		request.Header.Set("Authorization", "Bearer token")
		guarded.ServeHTTP(answer, request)
		return answer.Code
	}, shown, asked
}

// TestMetricsFilterRateLimit verifies the limits of reviews: ten at once, then five per
// second.
func TestMetricsFilterRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scrape, shown, _ := newScraper(t, "true")
		began := time.Now()
		for _, wait := range []time.Duration{9: 0, 10: 200, 400, 600, 800, 1000, 1200} {
			code, at := scrape(), time.Since(began).Round(time.Millisecond)
			if want := wait * time.Millisecond; code != http.StatusOK || at != want {
				t.Errorf("request %d: status %d after %s, want %s", *shown, code, at, want)
			}
		}
	})
}

// TestMetricsFilterUnknownTokenCostsOneReview verifies that no access review is sent for
// a token that is not authenticated.
func TestMetricsFilterUnknownTokenCostsOneReview(t *testing.T) {
	scrape, shown, asked := newScraper(t, "false")
	if code := scrape(); code != http.StatusUnauthorized || *shown > 0 || *asked != 1 {
		t.Errorf("status %d, served %d times, %d requests to the host", code, *shown, *asked)
	}
}
