package syncer

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestLeaderElectionDefaults verifies the documented defaults, that given values are
// kept, and that durations with which no process could lead are rejected.
func TestLeaderElectionDefaults(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ given, want LeaderElection }{
		"no options": {
			LeaderElection{}, LeaderElection{"syncer-one", host, 15 * time.Second, 10 * time.Second, 2 * time.Second},
		},
		"all options": {
			LeaderElection{"a", "me", 9 * time.Second, 6 * time.Second, time.Second},
			LeaderElection{"a", "me", 9 * time.Second, 6 * time.Second, time.Second},
		},
		"the largest RetryPeriod": {
			LeaderElection{Identity: "me", RetryPeriod: 8 * time.Second},
			LeaderElection{"syncer-one", "me", 15 * time.Second, 10 * time.Second, 8 * time.Second},
		},
	} {
		if got, err := tc.given.complete("one"); err != nil || got != tc.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for name, given := range map[string]LeaderElection{
		"LeaseDuration equals RenewDeadline": {LeaseDuration: 10 * time.Second},
		"RetryPeriod too long":               {RetryPeriod: 9 * time.Second},
		"negative RetryPeriod":               {Identity: "me", RetryPeriod: -1},
	} {
		if got, err := given.complete("one"); err == nil {
			t.Errorf("%s: accepted as %+v", name, got)
		}
	}
}

// TestLeaderElectionNameErrorFirst verifies that an invalid name is reported before
// invalid durations.
func TestLeaderElectionNameErrorFirst(t *testing.T) {
	_, err := LeaderElection{LeaseName: "No name", RetryPeriod: -1}.complete("one")
	if err == nil || !strings.HasPrefix(err.Error(), `LeaseName "No name" is not a valid name: `) {
		t.Errorf("got %v", err)
	}
}

// TestLeaderElectionConfigure verifies the options of the manager and the requests for
// the lease: they have their own user agent and a timeout of half the renew deadline, the
// identity is unique, and the given configuration is not changed.
func TestLeaderElectionConfigure(t *testing.T) {
	var agents, paths, patience []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents, paths = append(agents, r.UserAgent()), append(paths, r.URL.Path)
		patience = append(patience, r.URL.Query().Get("timeout"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	e := LeaderElection{"its-lease", "me", 9 * time.Second, 6 * time.Second, time.Second}
	host := &rest.Config{Host: server.URL, UserAgent: "provider"}
	var mo ctrl.Options
	lease, err := e.configure(host, "target", &mo, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !mo.LeaderElection || mo.LeaderElectionID != "its-lease" || mo.LeaderElectionResourceLockInterface != lease ||
		!mo.LeaderElectionReleaseOnCancel {
		t.Errorf("got options %+v", mo)
	}
	if *mo.LeaseDuration != e.LeaseDuration || *mo.RenewDeadline != e.RenewDeadline || *mo.RetryPeriod != e.RetryPeriod {
		t.Errorf("times %s, %s and %s", *mo.LeaseDuration, *mo.RenewDeadline, *mo.RetryPeriod)
	}
	if id := lease.Identity(); !strings.HasPrefix(id, "me_") || len(id) != len("me_")+36 {
		t.Errorf("got identity %q", id)
	}
	var others ctrl.Options
	if other, err := e.configure(host, "target", &others, nil); err != nil || other.Identity() == lease.Identity() {
		t.Errorf("two processes have the same identity, or error %v", err)
	}
	if _, _, err := lease.Get(t.Context()); err == nil {
		t.Error("no error for a missing lease")
	}
	if !slices.Equal(agents, []string{
		rest.DefaultKubernetesUserAgent() + "/leader-election",
	}) || !slices.Equal(paths, []string{
		"/apis/coordination.k8s.io/v1/namespaces/target/leases/its-lease",
	}) {
		t.Errorf("got requests for %v by %v", paths, agents)
	}
	if !slices.Equal(patience, []string{"3s"}) {
		t.Errorf("got timeouts %v", patience)
	}
	if host.UserAgent != "provider" || host.Timeout != 0 {
		t.Errorf("the given configuration was changed: %q, %s", host.UserAgent, host.Timeout)
	}
}

// TestLeaderElectionClientError verifies that an invalid configuration of the host is an
// error.
func TestLeaderElectionClientError(t *testing.T) {
	bad := &rest.Config{Host: "https://host", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}}
	if lease, err := (LeaderElection{LeaseName: "a", Identity: "me"}).configure(
		bad, "target", new(ctrl.Options), nil); err == nil {
		t.Errorf("got %v", lease)
	}
}

// TestFenceClosesBody verifies that the fence closes the body of a request that it does
// not send, and leaves the body of a sent request open.
func TestFenceClosesBody(t *testing.T) {
	lease, err := (LeaderElection{LeaseName: "a", Identity: "me"}).configure(
		&rest.Config{Host: "http://host"}, "target", new(ctrl.Options), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		method string
		body   *closeRecorder
		sent   bool
	}{
		"a write with a body":    {http.MethodPut, &closeRecorder{}, false},
		"a write without a body": {http.MethodPut, nil, false},
		"a read with a body":     {http.MethodGet, &closeRecorder{}, true},
		"a delete":               {http.MethodDelete, &closeRecorder{}, false},
	} {
		r := httptest.NewRequest(tc.method, "http://host/a", http.NoBody)
		r.Body = nil
		if tc.body != nil {
			r.Body = tc.body
		}
		sent := false
		f := fence{
			lease, clock.RealClock{}, roundTrip(func(*http.Request) (*http.Response, error) { sent = true; return nil, nil }),
		}
		if response, err := f.RoundTrip(r); errors.Is(err, ErrNotLeader) == tc.sent || sent != tc.sent || response != nil {
			t.Errorf("%s: sent %t, error %v", name, sent, err)
		}
		if tc.body != nil && tc.body.closed == tc.sent {
			t.Errorf("%s: its body is closed: %t", name, tc.body.closed)
		}
	}
	given := &rest.Config{Host: "http://host"}
	if f := withFence(given, lease); f == given || f.WrapTransport == nil || given.WrapTransport != nil {
		t.Error("the given configuration was changed, or the copy has no fence")
	}
}

// A closeRecorder records that it was closed.
type closeRecorder struct {
	io.Reader

	closed bool
}

func (c *closeRecorder) Close() error { c.closed = true; return nil }

// TestMetricsOptionsDisableHTTP2 verifies that authorized metrics are served over
// HTTP/1.1 only, and that the options are unchanged with insecure metrics.
func TestMetricsOptionsDisableHTTP2(t *testing.T) {
	guarded := metricsOptions(&rest.Config{}, ":8443", false)
	served := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	for _, set := range guarded.TLSOpts {
		set(served)
	}
	if !guarded.SecureServing || guarded.BindAddress != ":8443" || guarded.FilterProvider == nil ||
		!slices.Equal(served.NextProtos, []string{"http/1.1"}) {
		t.Errorf("got %+v, protocols %v", guarded, served.NextProtos)
	}
	if open := metricsOptions(&rest.Config{}, ":8080", true); open.SecureServing || open.FilterProvider != nil ||
		len(open.TLSOpts) > 0 {
		t.Errorf("got %+v", open)
	}
}
