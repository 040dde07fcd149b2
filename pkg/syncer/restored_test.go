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

// A snapshot is a cluster of a UID and a version, whatever it is asked for.
type snapshot struct {
	mu           sync.Mutex
	uid, version string
}

func (s *snapshot) set(uid, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uid, s.version = uid, version
}

func (s *snapshot) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"` + s.uid + `","resourceVersion":"` + s.version + `"}}`

	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r, Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

// watches lets two watches of a manager go on from a version, and returns the code of the last
// answer, 0 for none.
func watches(t *testing.T, m interface{ GetHTTPClient() *http.Client }) int {
	t.Helper()
	c, code := m.GetHTTPClient(), 0
	for range 2 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example/api/v1/pods?watch=true&resourceVersion=874", nil)
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

// TestRestored: when the host was restored to an earlier state, its manager ends; when the
// virtual cluster was, what is watched of it is listed anew, and the managers go on. Another
// cluster in the place of the virtual one, whose versions are lower, is none that was restored.
func TestRestored(t *testing.T) {
	host, virtual := &snapshot{}, &snapshot{}
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

	if code := watches(t, reg.VirtualManager); code != http.StatusOK {
		t.Errorf("a virtual cluster as it was answers with %d", code)
	}
	virtual.set("red", "219")
	if code := watches(t, reg.VirtualManager); code != http.StatusGone {
		t.Errorf("a virtual cluster that was restored answers with %d", code)
	}
	virtual.set("blue", "219")
	if code := watches(t, reg.VirtualManager); code != 0 {
		t.Errorf("another cluster answers with %d", code)
	}
	if code := watches(t, reg.PhysicalManager); code != http.StatusOK {
		t.Errorf("a host as it was answers with %d", code)
	}
	host.set("host", "219")
	if code := watches(t, reg.PhysicalManager); code != http.StatusGone {
		t.Errorf("a host that was restored answers with %d", code)
	}
	if err := <-physicalEnds; !errors.Is(err, controller.ErrRestored) {
		t.Errorf("the manager of the host ends with %v", err)
	}
	stop()
	if err := <-virtualEnds; err != nil {
		t.Errorf("the manager of the virtual cluster has ended with %v", err)
	}
}

// A configured is what is made of a configuration.
type configured struct{ client *http.Client }

func (c configured) GetHTTPClient() *http.Client { return c.client }

// TestGuardRestored: what is watched with a configuration that went through Guard alone is
// listed anew when the virtual cluster was restored, as in a Fleet; another cluster is none that
// was restored.
func TestGuardRestored(t *testing.T) {
	virtual := &snapshot{}
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
		{"a virtual cluster as it was", "red", "874", http.StatusOK},
		{"a virtual cluster that was restored", "red", "219", http.StatusGone},
		{"another cluster", "blue", "219", 0},
	} {
		virtual.set(tc.uid, tc.version)
		if code := watches(t, configured{c}); code != tc.code {
			t.Errorf("%s answers with %d, want %d", tc.reason, code, tc.code)
		}
	}
}
