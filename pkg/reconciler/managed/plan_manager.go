package managed

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/dryrun"
)

// A planningManager is the manager of a Planner. It sends no write, emits no event, and runs nothing that is added to
// it.
type planningManager struct {
	manager.Manager

	planner *Planner
	client  client.Client
	reader  client.Reader
	hooks   webhook.Server
}

func newPlanningManager(m manager.Manager, p *Planner) *planningManager {
	return &planningManager{
		Manager: m, planner: p, client: dryrun.NewClient(m.GetClient()),
		reader: dryrun.NewReader(m.GetAPIReader(), m.GetClient()), hooks: webhook.NewServer(webhook.Options{}),
	}
}

// GetClient returns a client that sends no write. In a plan it answers writes as the API server would.
func (m *planningManager) GetClient() client.Client { return m.client }

// GetAPIReader returns a reader that reads the unsent writes of a plan, too.
func (m *planningManager) GetAPIReader() client.Reader { return m.reader }

// Add accepts a runnable, and never starts it.
func (*planningManager) Add(manager.Runnable) error { return nil }

// Elected returns a closed channel: a plan is what a leader would do.
func (*planningManager) Elected() <-chan struct{} {
	elected := make(chan struct{})
	close(elected)

	return elected
}

// Start returns an error: call [Planner.Run].
func (*planningManager) Start(context.Context) error {
	return errors.New("the manager of a Planner cannot be started: call Run of the Planner")
}

// AddHealthzCheck accepts a check, and never calls it.
func (*planningManager) AddHealthzCheck(string, healthz.Checker) error { return nil }

// AddReadyzCheck accepts a check, and never calls it.
func (*planningManager) AddReadyzCheck(string, healthz.Checker) error { return nil }

// AddMetricsServerExtraHandler accepts a handler, and never serves it.
func (*planningManager) AddMetricsServerExtraHandler(string, http.Handler) error { return nil }

// GetWebhookServer returns a server that accepts webhooks, and is never started. The manager below would start its own.
func (m *planningManager) GetWebhookServer() webhook.Server { return m.hooks }

// GetEventRecorder returns a recorder that drops all events.
func (*planningManager) GetEventRecorder(string) recorder.EventRecorder { return noEvents{} }

// GetEventRecorderFor returns a recorder of the older API that drops all events.
func (*planningManager) GetEventRecorderFor(string) record.EventRecorder {
	return &record.FakeRecorder{}
}

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func (noEvents) AnnotatedEventf(_, _ runtime.Object, _ map[string]string, _, _, _, _ string, _ ...any) {
}

// readOnly returns a config whose clients send only reads and dry runs.
func readOnly(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnlyTransport{next} })

	return cfg
}

// A readOnlyTransport returns an error for each request that would change something in the API server, or that could do
// so behind it: it would be a connection to a process.
type readOnlyTransport struct{ next http.RoundTripper }

func (t readOnlyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	reads := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method)
	tries := r.Method == http.MethodPatch && slices.Equal(r.URL.Query()["dryRun"], []string{"All"})
	if (reads || tries) && !connects(r) {
		return t.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close() // as a transport has to; the request is not sent
	}

	return nil, errors.Wrapf(errPlanned, "%s %s was not sent", r.Method, r.URL.Path)
}

// connects reports whether a request is a connection to something else than the API server, whatever its method is.
func connects(r *http.Request) bool {
	if r.Header.Get("Upgrade") != "" || slices.ContainsFunc(r.Header.Values("Connection"), func(value string) bool {
		return strings.Contains(strings.ToLower(value), "upgrade")
	}) {
		return true
	}
	segments := strings.FieldsFunc(r.URL.Path, func(c rune) bool { return c == '/' })
	for i, segment := range segments { // the path of the API server itself may have a prefix
		if segment == "api" && connectsAt(segments[i+1:], 1) || segment == "apis" && connectsAt(segments[i+1:], 2) {
			return true
		}
	}

	return false
}

// connectsAt reports whether the segments of a path end in a subresource that connects to a process. The group and the
// version have the first segments, as many as of.
func connectsAt(segments []string, of int) bool {
	if len(segments) > of+2 && segments[of] == "namespaces" {
		of += 2
	}

	return len(segments) > of+2 &&
		slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, segments[of+2]) // after plural and name
}
