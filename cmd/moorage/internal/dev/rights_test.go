//go:build !race

// As with chart_test.go, what runs here are other programs.

package dev

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// serviceAccount returns a kubeconfig for the service account of the chart.
func serviceAccount(t *testing.T, s *session) (kubeconfig string) {
	t.Helper()

	return accountOf(t, s, "cloud-provider-cloud")
}

// accountOf returns a kubeconfig for a service account.
func accountOf(t *testing.T, s *session, name string) (kubeconfig string) {
	t.Helper()

	build := s.command(t.Context(), filepath.Join(s.Dir, "bin", "devcluster-build"))
	build.Stdout = nil

	binary, err := build.Output()
	if err != nil {
		t.Fatal(err)
	}

	text, err := exec.Command(strings.TrimSpace(string(binary)), "kubeconfig", "--dir", filepath.Join(s.Dir, "cluster"),
		"--user", "system:serviceaccount:providers:"+name, "--group", "system:serviceaccounts").Output()
	if err != nil {
		t.Fatal(err)
	}

	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}

	return kubeconfig
}

// scraper creates a service account that the chart's values list as a reader of metrics, and returns its token.
func scraper(t *testing.T, s *session) string {
	t.Helper()

	const where = "/api/v1/namespaces/providers/serviceaccounts/scraper"

	account := []byte("{apiVersion: v1, kind: ServiceAccount, metadata: {name: scraper, namespace: providers}}")
	if err := s.cluster.call(t.Context(), http.MethodPatch, where+"?fieldManager=test&force=true", account,
		nil); err != nil {
		t.Fatal(err)
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.cluster.server+where+"/token",
		strings.NewReader(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}`))
	if err != nil {
		t.Fatal(err)
	}

	request.Header.Set("Content-Type", "application/json")

	response, err := s.cluster.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	var made struct{ Status struct{ Token string } }
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil || made.Status.Token == "" {
		t.Fatalf("%s has no token: %s (%v)", where, response.Status, err)
	}

	return made.Status.Token
}

// buckets is the path of all objects of the kind.
const buckets = "/buckets"

// awaitRights waits until an account may list exactly these objects of the provider's group: the API server applies a
// changed role after a delay.
func awaitRights(t *testing.T, account string, want map[string]bool) {
	t.Helper()

	user, err := open(account)
	if err != nil {
		t.Fatal(err)
	}
	defer user.http.CloseIdleConnections()

	got := map[string]bool{}

	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rights of the provider were %v, want %v", got, want)
		}
	})
	wait.Until(t, "the provider has its rights", func() bool {
		for path := range want {
			switch err := user.call(t.Context(), http.MethodGet, "/apis/"+cloud+"/v1alpha1"+path, nil, nil); {
			case err == nil:
				got[path] = true
			case strings.Contains(err.Error(), "403"):
				got[path] = false
			default: // that is no answer
				t.Log(err)
				delete(got, path)
			}
		}

		return maps.Equal(got, want)
	})
}
