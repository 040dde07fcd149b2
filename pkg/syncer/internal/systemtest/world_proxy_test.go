package systemtest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A switchingProxy is a proxy whose backend the test switches between control planes.
// Watches at a version of the former backend expire, so that they start with a list.
type switchingProxy struct {
	server *httptest.Server

	mu     sync.Mutex
	proxy  http.Handler // nil: no backend
	listed map[string]bool
}

func newSwitchingProxy(t *testing.T, p *controlPlane) *switchingProxy {
	h := &switchingProxy{}
	h.server = httptest.NewServer(h)
	t.Cleanup(h.server.Close)
	h.switchTo(t, p)
	return h
}

func (h *switchingProxy) config() *rest.Config { return &rest.Config{Host: h.server.URL, QPS: -1} }

func (h *switchingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	proxy, query := h.proxy, r.URL.Query()
	resumed := query.Get("watch") != "" && query.Get("sendInitialEvents") != "true"
	expired := resumed && !h.listed[r.URL.Path]
	if !resumed && h.listed != nil {
		h.listed[r.URL.Path] = true
	}
	h.mu.Unlock()
	switch {
	case proxy == nil:
		http.Error(w, "no backend", http.StatusBadGateway)
	case expired:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
	default:
		proxy.ServeHTTP(w, r)
	}
}

// switchTo makes another control plane answer, or none. Watches end.
func (h *switchingProxy) switchTo(t *testing.T, p *controlPlane) {
	t.Helper()
	var proxy http.Handler
	if p != nil {
		proxy = proxyOf(t, p)
	}
	h.mu.Lock()
	h.proxy, h.listed = proxy, map[string]bool{}
	h.mu.Unlock()
	h.server.CloseClientConnections()
}

func proxyOf(t *testing.T, p *controlPlane) http.Handler {
	t.Helper()
	address, err := url.Parse(p.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(p.config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.Transport, proxy.FlushInterval = transport, -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
	return proxy
}

// A failureLog counts the failed passes of each virtual name.
type failureLog struct {
	mu     sync.Mutex
	failed map[types.NamespacedName]int
}

func (j *failureLog) add(name types.NamespacedName, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil && !apierrors.IsConflict(err) {
		j.failed[name]++
	}
}

func (j *failureLog) failures(name types.NamespacedName) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed[name]
}

func (j *failureLog) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = map[types.NamespacedName]int{}
}

// A loggingSyncer is a widgetSyncer with a failureLog.
type loggingSyncer struct {
	widgetSyncer

	journal *failureLog
}

func (s loggingSyncer) ReconcileStart(
	_ *synccontext.SyncContext, req ctrl.Request,
) (bool, func(ctrl.Result, error), error) {
	return false, func(_ ctrl.Result, err error) { s.journal.add(req.NamespacedName, err) }, nil
}

// logFailures makes the syncer log its failed passes.
func (f *testSyncer) logFailures() *failureLog {
	j := &failureLog{}
	j.reset()
	f.syncer = func(ctx *synccontext.RegisterContext, o syncer.Options) syncer.Syncer {
		widgets := widgetSyncer{translator.NewNamespacedTranslator(ctx, "widgets", emptyWidget()), o}
		return syncer.FromTyped(emptyWidget(), loggingSyncer{widgets, j})
	}
	return j
}

var _ syncer.StarterV2 = loggingSyncer{}

// newPlainManager returns a manager without a guard, otherwise like that of a
// RegisterContext.
func newPlainManager(c *rest.Config) (manager.Manager, error) {
	return ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Controller: config.Controller{SkipNameValidation: new(true)}, GracefulShutdownTimeout: new(wait.Patience()),
	})
}
