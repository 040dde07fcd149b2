package syncer_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

// A versionedCluster answers every request with a kube-system namespace of a UID and
// version.
type versionedCluster struct {
	mu           sync.Mutex
	uid, version string
}

func (s *versionedCluster) set(uid, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uid, s.version = uid, version
}

func (s *versionedCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"` + s.uid +
		`","resourceVersion":"` + s.version + `"}}`

	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(
			strings.NewReader(body)), Request: r, Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

// resumeWatches resumes two watches at a version and returns the status code of the last
// response, or 0 after an error.
func resumeWatches(t *testing.T, m interface{ GetHTTPClient() *http.Client }) int {
	t.Helper()
	c, code := m.GetHTTPClient(), 0
	for range 2 {
		request, err := http.NewRequestWithContext(
			t.Context(), http.MethodGet, "http://a.example/api/v1/pods?watch=true&resourceVersion=874", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(request)
		if err != nil {
			return 0
		}
		code = answer.StatusCode
		_ = answer.Body.Close()
	}

	return code
}

// TestRegisterContextRestore verifies that the manager of the host ends if the host is
// restored, and that watches of the virtual cluster start again if that is restored.
// Another cluster with lower versions does not count as a restore.
func TestRegisterContextRestore(t *testing.T) {
	host, virtual := &versionedCluster{}, &versionedCluster{}
	host.set("host", "874")
	virtual.set("red", "874")
	reg, err := syncer.NewRegisterContext(t.Context(), syncer.RegisterOptions{
		Virtual:  &rest.Config{Host: "http://red.example", Transport: virtual},
		Physical: &rest.Config{Host: "http://host.example", Transport: host}, Name: "red", TargetNamespace: "tenants",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	physicalEnds, virtualEnds := make(chan error, 1), make(chan error, 1)
	go func() { physicalEnds <- reg.PhysicalManager.Start(ctx) }()
	go func() { virtualEnds <- reg.VirtualManager.Start(ctx) }()

	if code := resumeWatches(t, reg.VirtualManager); code != http.StatusOK {
		t.Errorf("an unchanged virtual cluster answers with %d", code)
	}
	virtual.set("red", "219")
	if code := resumeWatches(t, reg.VirtualManager); code != http.StatusGone {
		t.Errorf("a restored virtual cluster answers with %d", code)
	}
	virtual.set("blue", "219")
	if code := resumeWatches(t, reg.VirtualManager); code != 0 {
		t.Errorf("another cluster answers with %d", code)
	}
	if code := resumeWatches(t, reg.PhysicalManager); code != http.StatusOK {
		t.Errorf("an unchanged host answers with %d", code)
	}
	host.set("host", "219")
	if code := resumeWatches(t, reg.PhysicalManager); code != http.StatusGone {
		t.Errorf("a restored host answers with %d", code)
	}
	if err := <-physicalEnds; !errors.Is(err, controller.ErrRestored) {
		t.Errorf("the manager of the host ends with %v", err)
	}
	stop()
	if err := <-virtualEnds; err != nil {
		t.Errorf("the manager of the virtual cluster has ended with %v", err)
	}
}

// An httpClientHolder has the HTTP client of a configuration.
type httpClientHolder struct{ client *http.Client }

func (c httpClientHolder) GetHTTPClient() *http.Client { return c.client }

// TestGuardRestore verifies that watches with a guarded configuration start again if the
// virtual cluster is restored, as in a Fleet. Another cluster does not count as a
// restore.
func TestGuardRestore(t *testing.T) {
	virtual := &versionedCluster{}
	virtual.set("red", "874")
	config, uid, err := syncer.Guard(t.Context(), &rest.Config{Host: "http://red.example", Transport: virtual})
	if err != nil || uid != "red" {
		t.Fatal(uid, err)
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		reason, uid, version string
		code                 int
	}{
		{"an unchanged virtual cluster", "red", "874", http.StatusOK},
		{"a restored virtual cluster", "red", "219", http.StatusGone},
		{"another cluster", "blue", "219", 0},
	} {
		virtual.set(tc.uid, tc.version)
		if code := resumeWatches(t, httpClientHolder{c}); code != tc.code {
			t.Errorf("%s answers with %d, want %d", tc.reason, code, tc.code)
		}
	}
}
