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

// A harbour master is a proxy that says who answers under the tenant's address. A
// newcomer does not know the versions of whoever was there before: watches have to
// begin with a list.
type harbourMaster struct {
	server *httptest.Server

	mu     sync.Mutex
	proxy  http.Handler // nil: nobody
	listed map[string]bool
}

func newHarbourMaster(t *testing.T, p *plane) *harbourMaster {
	h := &harbourMaster{}
	h.server = httptest.NewServer(h)
	t.Cleanup(h.server.Close)
	h.let(t, p)
	return h
}

func (h *harbourMaster) config() *rest.Config { return &rest.Config{Host: h.server.URL, QPS: -1} }

func (h *harbourMaster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		http.Error(w, "nobody is here", http.StatusBadGateway)
	case expired:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
	default:
		proxy.ServeHTTP(w, r)
	}
}

// let a control plane answer from now on, or nobody. Watches end.
func (h *harbourMaster) let(t *testing.T, p *plane) {
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

func proxyOf(t *testing.T, p *plane) http.Handler {
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

// A journal tells of every virtual name how many passes over it failed.
type journal struct {
	mu     sync.Mutex
	failed map[types.NamespacedName]int
}

func (j *journal) wrote(name types.NamespacedName, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil && !apierrors.IsConflict(err) {
		j.failed[name]++
	}
}

func (j *journal) failures(name types.NamespacedName) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed[name]
}

func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = map[types.NamespacedName]int{}
}

// journalling is a syncer of boats that keeps a journal.
type journalling struct {
	boatSyncer

	journal *journal
}

func (s journalling) ReconcileStart(_ *synccontext.SyncContext, req ctrl.Request) (bool, func(ctrl.Result, error), error) {
	return false, func(_ ctrl.Result, err error) { s.journal.wrote(req.NamespacedName, err) }, nil
}

// keepJournal makes the fleet's syncer keep one.
func (f *fleet) keepJournal() *journal {
	j := &journal{}
	j.reset()
	f.syncer = func(ctx *synccontext.RegisterContext, o syncer.Options) syncer.Syncer {
		boats := boatSyncer{translator.NewNamespacedTranslator(ctx, "boats", emptyBoat()), o}
		return syncer.FromTyped(emptyBoat(), journalling{boats, j})
	}
	return j
}

var _ syncer.StarterV2 = journalling{}

// newPlainManager returns a manager that listens to whoever answers, as one of one's
// own would. For the rest it is like that of a RegisterContext.
func newPlainManager(c *rest.Config) (manager.Manager, error) {
	return ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Controller: config.Controller{SkipNameValidation: new(true)}, GracefulShutdownTimeout: new(wait.Patience()),
	})
}
