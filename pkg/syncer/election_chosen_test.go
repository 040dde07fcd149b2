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

// The defaults are those that the options name, and what is given stays.
func TestWhatALeaderElectionChooses(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ given, want LeaderElection }{
		"nothing is given": {LeaderElection{}, LeaderElection{"syncer-one", host, 15 * time.Second, 10 * time.Second, 2 * time.Second}},
		"all is given":     {LeaderElection{"a", "me", 9 * time.Second, 6 * time.Second, time.Second}, LeaderElection{"a", "me", 9 * time.Second, 6 * time.Second, time.Second}},
		"nearly too often": {LeaderElection{Identity: "me", RetryPeriod: 8 * time.Second}, LeaderElection{"syncer-one", "me", 15 * time.Second, 10 * time.Second, 8 * time.Second}},
	} {
		if got, err := tc.given.complete("one"); err != nil || got != tc.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for name, given := range map[string]LeaderElection{
		"as long as it is tried to be renewed": {LeaseDuration: 10 * time.Second},
		"tried again too seldom":               {RetryPeriod: 9 * time.Second},
		"no time at all, with an identity":     {Identity: "me", RetryPeriod: -1},
	} {
		if got, err := given.complete("one"); err == nil {
			t.Errorf("%s: accepted as %+v", name, got)
		}
	}
}

// Of two mistakes the name is told first.
func TestAnElectionWithTwoMistakes(t *testing.T) {
	_, err := LeaderElection{LeaseName: "No name", RetryPeriod: -1}.complete("one")
	if err == nil || !strings.HasPrefix(err.Error(), `LeaseName "No name" is no name: `) {
		t.Errorf("got %v", err)
	}
}

// The manager gets the times, the name and the lease, which it gives up when it stops. The lease is asked for by an agent of its own, under a name that no two
// processes share, and a request that hangs costs half of the time for a renewal.
func TestTheElectionOfAManager(t *testing.T) {
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
	lease, err := e.elect(host, "target", &mo, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !mo.LeaderElection || mo.LeaderElectionID != "its-lease" || mo.LeaderElectionResourceLockInterface != lease || !mo.LeaderElectionReleaseOnCancel {
		t.Errorf("the manager was given %+v", mo)
	}
	if *mo.LeaseDuration != e.LeaseDuration || *mo.RenewDeadline != e.RenewDeadline || *mo.RetryPeriod != e.RetryPeriod {
		t.Errorf("times %s, %s and %s", *mo.LeaseDuration, *mo.RenewDeadline, *mo.RetryPeriod)
	}
	if id := lease.Identity(); !strings.HasPrefix(id, "me_") || len(id) != len("me_")+36 {
		t.Errorf("it is held by %q", id)
	}
	var others ctrl.Options
	if other, err := e.elect(host, "target", &others, nil); err != nil || other.Identity() == lease.Identity() {
		t.Errorf("two processes have one name, or %v", err)
	}
	if _, _, err := lease.Get(t.Context()); err == nil {
		t.Error("there is no lease")
	}
	if !slices.Equal(agents, []string{rest.DefaultKubernetesUserAgent() + "/leader-election"}) || !slices.Equal(paths, []string{"/apis/coordination.k8s.io/v1/namespaces/target/leases/its-lease"}) {
		t.Errorf("asked for %v by %v", paths, agents)
	}
	if !slices.Equal(patience, []string{"3s"}) {
		t.Errorf("a request may take %v", patience)
	}
	if host.UserAgent != "provider" || host.Timeout != 0 {
		t.Errorf("the configuration of the others was changed: %q, %s", host.UserAgent, host.Timeout)
	}
}

// A host that no client can be made for is an error, and no manager that waits for ever.
func TestAnElectionOnNoHost(t *testing.T) {
	bad := &rest.Config{Host: "https://host", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}}
	if lease, err := (LeaderElection{LeaseName: "a", Identity: "me"}).elect(bad, "target", new(ctrl.Options), nil); err == nil {
		t.Errorf("got %v", lease)
	}
}

// A request that is not sent leaves no body open, and one that is sent has it still.
func TestTheBodyOfARequest(t *testing.T) {
	lease, err := (LeaderElection{LeaseName: "a", Identity: "me"}).elect(&rest.Config{Host: "http://host"}, "target", new(ctrl.Options), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		method string
		body   *closes
		sent   bool
	}{
		"a change with a body": {http.MethodPut, &closes{}, false},
		"a change without":     {http.MethodPut, nil, false},
		"a question with one":  {http.MethodGet, &closes{}, true},
		"a deletion":           {http.MethodDelete, &closes{}, false},
	} {
		r := httptest.NewRequest(tc.method, "http://host/a", http.NoBody)
		r.Body = nil
		if tc.body != nil {
			r.Body = tc.body
		}
		sent := false
		f := fence{lease, clock.RealClock{}, roundTrip(func(*http.Request) (*http.Response, error) { sent = true; return nil, nil })} //nolint:nilnil // nobody looks at the answer
		if response, err := f.RoundTrip(r); errors.Is(err, ErrNotLeader) == tc.sent || sent != tc.sent || response != nil {           //nolint:bodyclose // there is no response
			t.Errorf("%s: sent %t, error %v", name, sent, err)
		}
		if tc.body != nil && tc.body.closed == tc.sent {
			t.Errorf("%s: its body is closed: %t", name, tc.body.closed)
		}
	}
	given := &rest.Config{Host: "http://host"}
	if f := fenced(given, lease); f == given || f.WrapTransport == nil || given.WrapTransport != nil {
		t.Error("the fence is not in a copy of the configuration")
	}
}

type closes struct {
	io.Reader

	closed bool
}

func (c *closes) Close() error { c.closed = true; return nil }

// Metrics that are guarded are served by HTTP/1.1 alone; those that are not are served as they were.
func TestHowMetricsAreServed(t *testing.T) {
	guarded := metricsOptions(&rest.Config{}, ":8443", false)
	served := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	for _, set := range guarded.TLSOpts {
		set(served)
	}
	if !guarded.SecureServing || guarded.BindAddress != ":8443" || guarded.FilterProvider == nil || !slices.Equal(served.NextProtos, []string{"http/1.1"}) {
		t.Errorf("got %+v, protocols %v", guarded, served.NextProtos)
	}
	if open := metricsOptions(&rest.Config{}, ":8080", true); open.SecureServing || open.FilterProvider != nil || len(open.TLSOpts) > 0 {
		t.Errorf("got %+v", open)
	}
}
