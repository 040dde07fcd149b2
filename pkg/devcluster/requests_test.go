package devcluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func TestRequestsTellsWhoAskedForWhat(t *testing.T) {
	c, err := Start(t.Context(), Options{Own: true, Audit: true, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	config, err := c.UserConfig(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	var got []Request
	noted := func(n int) {
		t.Helper()
		wait.Until(t, "the request is noted", func() bool {
			if got, err = c.Requests("alice"); err != nil {
				t.Fatal(err)
			}
			return len(got) >= n
		})
	}
	get(t, config, "/api/v1/namespaces/default/secrets/login")
	noted(1)
	get(t, config, "/version")
	noted(2)
	want := []Request{
		{User: "alice", Verb: "get", Resource: "secrets", Namespace: "default", Name: "login", Code: 403},
		{User: "alice", Verb: "get", Code: 200},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests: -want, +got:\n%s", diff)
	}
	if others, err := c.Requests("bob"); err != nil || len(others) != 0 {
		t.Errorf("bob's requests: %v, %v", others, err)
	}
}

func get(t *testing.T, config *rest.Config, path string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(config.Host + path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

func TestRequestsOfAControlPlaneThatDoesNotNoteThem(t *testing.T) {
	for name, c := range map[string]*Cluster{"existing": {}, "not audited": {Dir: t.TempDir()}} {
		if _, err := c.Requests("alice"); !errors.Is(err, ErrNotAudited) {
			t.Errorf("%s: error %v, want ErrNotAudited", name, err)
		}
	}
}

func TestRequestsIncompleteLine(t *testing.T) {
	c := &Cluster{Dir: t.TempDir()}
	const whole = `{"verb":"patch","user":{"username":"alice"},"objectRef":{"resource":"streams","namespace":"default",` +
		`"name":"a","apiGroup":"example.org","subresource":"status"},"responseStatus":{"code":200}}`
	lines := whole + "\n" + `{"verb":"patch","user":{"usern`
	if err := os.WriteFile(filepath.Join(c.Dir, "audit.log"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := c.Requests("alice")
	want := []Request{{User: "alice", Verb: "patch", Group: "example.org", Resource: "streams", Subresource: "status",
		Namespace: "default", Name: "a", Code: 200}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v; -want, +got:\n%s", err, diff)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "audit.log"), []byte("garbage\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Requests("alice"); err == nil {
		t.Error("garbage is no error")
	}
}
