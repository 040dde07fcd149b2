package syncer

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// startManager runs a manager until the test ends.
func startManager(t *testing.T, m manager.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
}

// TestProcessManagerProbes verifies that the health checks are served at the configured
// address.
func TestProcessManagerProbes(t *testing.T) {
	var m manager.Manager
	var address string
	for m == nil { // another process may take the port in between
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		m, _, _ = newProcessManager(&rest.Config{Host: "http://host"}, RegisterOptions{HealthAddress: address}, nil)
	}
	startManager(t, m)
	for _, path := range []string{"/healthz", "/healthz/ping"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || string(body) != "ok" {
			t.Errorf("%s: got %s, %q, %v", path, answer.Status, body, err)
		}
	}
}

// TestProcessManagerOptions verifies that the manager exists only if an option needs it,
// and that invalid options are errors.
func TestProcessManagerOptions(t *testing.T) {
	host := &rest.Config{Host: "http://host"}
	if m, lease, err := newProcessManager(
		host, RegisterOptions{HealthAddress: "0", MetricsAddress: "0"}, nil); m != nil || lease != nil || err != nil {
		t.Errorf("no server: got %v, %v, %v", m, lease, err)
	}
	if m, lease, err := newProcessManager(host, RegisterOptions{MetricsAddress: "127.0.0.1:0"}, nil); m == nil ||
		lease != nil || err != nil {
		t.Errorf("metrics: got %v, %v, %v", m, lease, err)
	}
	if m, _, err := newProcessManager(host, RegisterOptions{HealthAddress: "no address"}, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot create a manager for the process: ") {
		t.Errorf("invalid health address: got %v, %v", m, err)
	}
	if m, _, err := newProcessManager(host, RegisterOptions{
		Name: "one", LeaderElection: &LeaderElection{RetryPeriod: -1},
	}, nil); err == nil ||
		!strings.HasPrefix(
			err.Error(),
			"cannot create a register context: LeaderElection: LeaseDuration (15s) must be"+
				" greater than RenewDeadline (10s), which must be greater than 1.2 times RetryPeriod (-1ns)") {
		t.Errorf("invalid durations: got %v, %v", m, err)
	}
}

// TestProcessManagerLease verifies that the process requests its lease in the target
// namespace and is not elected without it.
func TestProcessManagerLease(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path:
		default:
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	m, lease, err := newProcessManager(&rest.Config{Host: server.URL}, RegisterOptions{
		Name: "one", TargetNamespace: "target", LeaderElection: &LeaderElection{Identity: "me"},
	}, nil)
	if err != nil || lease == nil {
		t.Fatalf("got %v, %v", lease, err)
	}
	startManager(t, m)
	if path := <-asked; path != "/apis/coordination.k8s.io/v1/namespaces/target/leases/syncer-one" {
		t.Errorf("got a request for %s", path)
	}
	select {
	case <-m.Elected():
		t.Error("elected without a lease")
	default:
	}
}

// TestMetricsFilterRequests verifies the reviews: they have their own user agent and
// limits, end after five seconds, and are sent only for requests with a token. If a
// review fails, the response is 500.
func TestMetricsFilterRequests(t *testing.T) {
	agent := rest.DefaultKubernetesUserAgent() + "/metrics"
	var asked []string
	var ends []time.Time
	host := &rest.Config{Host: "http://host", UserAgent: "provider", RateLimiter: flowcontrol.NewFakeNeverRateLimiter()}
	host.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		end, _ := r.Context().Deadline()
		asked, ends = append(asked, r.UserAgent()+" "+r.URL.Path), append(ends, end)
		answer := httptest.NewRecorder()
		answer.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
			_, _ = answer.WriteString(
				`{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":` +
					`{"authenticated":true,"user":{"username":"prometheus"}}}`)
		} else {
			answer.WriteHeader(http.StatusForbidden)
		}
		return answer.Result(), nil
	})
	filter, err := newMetricsFilter(host)
	if err != nil {
		t.Fatal(err)
	}
	if host.UserAgent != "provider" || host.RateLimiter == nil || host.QPS != 0 || host.Burst != 0 {
		t.Errorf("the given configuration was changed: %+v", host)
	}
	guarded, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("shown") }))
	if err != nil {
		t.Fatal(err)
	}
	read := func(authorization string) *httptest.ResponseRecorder {
		request, answer := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody), httptest.NewRecorder()
		request.Header.Set("Authorization", authorization)
		guarded.ServeHTTP(answer, request)
		return answer
	}
	if code := read("Basic secret").Code; code != http.StatusUnauthorized || len(asked) > 0 {
		t.Errorf("without a token: %d, requests %v", code, asked)
	}
	before := time.Now()
	answer := read("Bearer token")
	after := time.Now()
	if answer.Code != http.StatusInternalServerError ||
		answer.Body.String() != "cannot authorize the request: see the log of the process\n" {
		t.Errorf("got %d, %q", answer.Code, answer.Body)
	}
	if want := []string{
		agent + " /apis/authentication.k8s.io/v1/tokenreviews", agent + " /apis/authorization.k8s.io/v1/subjectaccessreviews",
	}; !slices.Equal(asked, want) {
		t.Errorf("got requests %q", asked)
	}
	for _, end := range ends {
		if began := end.Add(-5 * time.Second); began.Before(before) || began.After(after) {
			t.Errorf("got deadline %s for a request between %s and %s", end, before, after)
		}
	}
}
