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

// scraped returns what is asked for metrics with a token, for a host that knows the token or does not, and that lets its user in. It counts what is shown and
// what the host is asked.
func scraped(t *testing.T, known string) (scrape func() int, shown, asked *int) {
	t.Helper()
	shown, asked = new(int), new(int)
	filter, err := guardMetrics(&rest.Config{Host: "http://host", QPS: -1, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		*asked++
		text := `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`
		if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
			text = `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"authenticated":` + known + `}}`
		}
		answer := httptest.NewRecorder()
		answer.Header().Set("Content-Type", "application/json")
		_, _ = answer.WriteString(text)
		return answer.Result(), nil
	})})
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

// The host is asked about ten readers at once, and then about five in a second: it is spared those who read without an end.
func TestHowOftenTheHostIsAskedAboutReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scrape, shown, _ := scraped(t, "true")
		began := time.Now()
		for _, wait := range []time.Duration{9: 0, 10: 200, 400, 600, 800, 1000, 1200} {
			code, at := scrape(), time.Since(began).Round(time.Millisecond)
			if want := wait * time.Millisecond; code != http.StatusOK || at != want {
				t.Errorf("reader %d: answered with %d after %s, want %s", *shown, code, at, want)
			}
		}
	})
}

// Nobody asks what a user may do whom the host does not know.
func TestAStrangerCostsOneReview(t *testing.T) {
	scrape, shown, asked := scraped(t, "false")
	if code := scrape(); code != http.StatusUnauthorized || *shown > 0 || *asked != 1 {
		t.Errorf("answered with %d, shown %d times, the host was asked %d times", code, *shown, *asked)
	}
}
