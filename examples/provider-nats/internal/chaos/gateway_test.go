package chaos

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestGateway: while the gateway is wrong, one of a hundred requests is answered with a page; all others
// reach the API server with the credentials of the provider.
func TestGateway(t *testing.T) {
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if reached++; r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/apis" {
			t.Errorf("%s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}

		_, _ = io.WriteString(out, "{}")
	}))
	defer server.Close()

	g, err := newGateway(&rest.Config{Host: server.URL, BearerToken: "secret"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer g.stop()

	text, err := os.ReadFile(g.kubeconfig)
	if err != nil || strings.Contains(string(text), "secret") {
		t.Fatalf("the kubeconfig holds %s, %v", text, err)
	}

	cfg, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		t.Fatal(err)
	}

	codes := map[int]int{}
	ask := func() {
		t.Helper()

		answer, err := http.Get(cfg.Host + "/apis")
		if err != nil {
			t.Fatal(err)
		}

		codes[answer.StatusCode]++
		_ = answer.Body.Close()
	}

	for range pageEvery {
		ask()
	}

	if codes[http.StatusOK] != pageEvery {
		t.Errorf("before it is wrong: %v", codes)
	}

	g.wrong.Store(true)

	for range 3 * pageEvery {
		ask()
	}

	g.wrong.Store(false)
	ask()

	got := codes[http.StatusNotFound] + codes[http.StatusForbidden] + codes[http.StatusBadGateway]
	if got != 3 || len(codes) != 4 || g.answers.Load() != 3 {
		t.Errorf("answers: %v, pages: %d", codes, g.answers.Load())
	}

	if codes[http.StatusOK] != reached {
		t.Errorf("%d requests reached the API server, %d were answered", reached, codes[http.StatusOK])
	}

	server.Close()

	if answer, err := http.Get(cfg.Host + "/apis"); err == nil {
		_ = answer.Body.Close()
		t.Errorf("a missing server answers %s", answer.Status)
	}
}
