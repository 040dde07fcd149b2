package managed_test

import (
	"bytes"
	"context"
	stderrors "errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/dryrun"
)

// TestReadOnlyConfig verifies which requests reach the API server.
func TestReadOnlyConfig(t *testing.T) {
	reached := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer s.Close()
	cfg := &rest.Config{Host: s.URL}
	c, err := rest.HTTPClientFor(managed.ReadOnlyConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.WrapTransport != nil {
		t.Error("the config itself was changed")
	}
	for name, r := range map[string]struct {
		method, path string
		passes       bool
	}{
		"get":             {http.MethodGet, "/api/v1/pods", true},
		"dry run":         {http.MethodPatch, "/api/v1/pods/a?dryRun=All&force=true", true},
		"patch":           {http.MethodPatch, "/api/v1/pods/a", false},
		"half a dry run":  {http.MethodPatch, "/api/v1/pods/a?dryRun=", false},
		"two dry runs":    {http.MethodPatch, "/api/v1/pods/a?dryRun=All&dryRun=None", false},
		"post":            {http.MethodPost, "/api/v1/pods", false},
		"post as dry run": {http.MethodPost, "/api/v1/pods?dryRun=All", false},
		"put":             {http.MethodPut, "/api/v1/pods/a", false},
		"delete":          {http.MethodDelete, "/api/v1/pods/a", false},
		"exec":            {http.MethodGet, "/api/v1/namespaces/a/pods/b/exec?command=rm", false},
		"attach":          {http.MethodGet, "/clusters/c/api/v1/namespaces/a/pods/b/attach", false},
		"port":            {http.MethodGet, "/api/v1/namespaces/a/pods/b/portforward", false},
		"proxy":           {http.MethodGet, "/api/v1/namespaces/a/services/b:80/proxy/delete", false},
		"proxy of a node": {http.MethodGet, "/api/v1//nodes/b/proxy/", false},
		"proxied patch":   {http.MethodPatch, "/api/v1/namespaces/a/pods/b/proxy/c?dryRun=All", false},
		"in a group":      {http.MethodGet, "/apis/a.org/v1/namespaces/b/machines/c/proxy", false},
		"named exec":      {http.MethodGet, "/apis/a.org/v1/namespaces/b/streams/exec", true},
		"named proxy":     {http.MethodGet, "/api/v1/namespaces/proxy/secrets/a", true},
		"the status":      {http.MethodGet, "/apis/a.org/v1/namespaces/b/streams/proxy/status", true},
	} {
		before := reached
		request, err := http.NewRequestWithContext(t.Context(), r.method, s.URL+r.path,
			io.NopCloser(bytes.NewReader([]byte("{}"))))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(request)
		if err == nil {
			err = answer.Body.Close()
		}
		if passes := reached > before; passes != r.passes || passes != (err == nil) ||
			!passes && !errors.Is(err, managed.ErrPlanned) {
			t.Errorf("%s: reached %t, error %v", name, passes, err)
		}
	}
}

// TestReadOnlyConfigUpgrades verifies that no connection becomes a stream of bytes, in which anything may be sent.
func TestReadOnlyConfigUpgrades(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an upgrade was sent") }))
	defer s.Close()
	c, err := rest.HTTPClientFor(managed.ReadOnlyConfig(&rest.Config{Host: s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []http.Header{
		{"Connection": {"Upgrade"}}, {"Connection": {"keep-alive, upgrade"}}, {"Upgrade": {"websocket"}},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/apis/a.org/v1/machines/b/tty", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		answer, err := c.Do(request)
		if err == nil {
			err = answer.Body.Close()
		}
		if !errors.Is(err, managed.ErrPlanned) {
			t.Errorf("%v: error %v", header, err)
		}
	}
}

// TestManagerOfAPlanner verifies that the manager runs nothing, and sends no write.
func TestManagerOfAPlanner(t *testing.T) {
	w := newWorld(t)
	m := managed.NewPlannerOf(reader{w.m, w.listener()}).Manager()
	started := errors.New("started")
	if err := stderrors.Join(
		m.Add(manager.RunnableFunc(func(context.Context) error { return started })), m.AddHealthzCheck("a", nil),
		m.AddReadyzCheck("a", nil), m.AddMetricsServerExtraHandler("/a", nil)); err != nil {
		t.Error(err)
	}
	if err := m.Start(t.Context()); err == nil || errors.Is(err, started) {
		t.Errorf("start: %v", err)
	}
	hooks := m.GetWebhookServer()
	hooks.Register("/validate", http.NotFoundHandler())
	if hooks != m.GetWebhookServer() || hooks.StartedChecker()(nil) == nil {
		t.Error("the webhook server is another one each time, or runs")
	}
	select {
	case <-m.Elected():
	default:
		t.Error("not elected")
	}
	m.GetEventRecorder("a").Eventf(nil, nil, "", "", "", "")
	m.GetEventRecorder("a").AnnotatedEventf(nil, nil, nil, "", "", "", "")
	if err := m.GetClient().Create(t.Context(), atKey()); !errors.Is(err, dryrun.ErrRefused) {
		t.Errorf("a write outside of a plan: %v", err)
	}
	w.expect("", "", "")
}
