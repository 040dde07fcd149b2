package systemtest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A replica is one of several processes for the same clusters.
type replica struct {
	*testing.T

	runner  *syncer.Runner
	writes  atomic.Int32 // to either cluster, without leases and events
	creates atomic.Int32 // of widgets
	cut     atomic.Bool  // it does not reach its lease
	health  string
	stop    context.CancelFunc
	ended   chan error
}

// startReplica starts a replica with leader election.
func (f *testSyncer) startReplica() *replica {
	f.Helper()
	r := &replica{T: f.T, ended: make(chan error, 1), health: fmt.Sprintf("127.0.0.1:%d", port.Free(f.T))}
	reg, err := syncer.NewRegisterContext(f.Context(), syncer.RegisterOptions{
		Virtual: r.instrument(
			f.tenantConf), Physical: r.instrument(f.hostConf), Scheme: scheme, Name: f.name, TargetNamespace: f.target,
		LeaderElection: &syncer.LeaderElection{}, HealthAddress: r.health,
	})
	if err != nil {
		f.Fatal(err)
	}
	r.runner = syncer.NewRunner(reg)
	if err := r.runner.Register(f.syncer(reg, f.options)); err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.ended <- r.runner.Start(ctx) }()
	f.Cleanup(stop)
	return r
}

// instrument counts the writes of a replica and can cut off its lease requests.
func (r *replica) instrument(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			lease := strings.Contains(request.URL.Path, "/leases")
			switch {
			case lease && r.cut.Load():
				return nil, errors.New("the lease is unreachable")
			case request.Method != http.MethodGet && !lease && !strings.HasSuffix(request.URL.Path, "/events"):
				r.writes.Add(1)
			}
			answer, err := next.RoundTrip(request)
			if err == nil && answer.StatusCode == http.StatusCreated && strings.Contains(request.URL.Path, "/widgets") {
				r.creates.Add(1)
			}
			return answer, err
		})
	})
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// waitForLead waits until the replica leads.
func (r *replica) waitForLead() {
	r.Helper()
	wait.Until(r.T, "the replica leads", func() bool {
		select {
		case <-r.runner.Ready():
			return true
		case err := <-r.ended:
			r.Fatalf("the replica ended: %v", err)
			return false
		default:
			return false
		}
	})
}

// isWaiting reports whether the replica has neither synced nor ended.
func (r *replica) isWaiting() bool {
	select {
	case <-r.runner.Ready():
		return false
	default:
		return r.writes.Load() == 0 && len(r.ended) == 0
	}
}

// probe returns the status code of a health check, or 0 if there is no response.
func (r *replica) probe(path string) int {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+r.health+path, http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// createAndWait creates widgets in the tenant, waits until all are on the host, and
// returns the UIDs of their images.
func (f *testSyncer) createAndWait(names ...string) map[string]types.UID {
	f.Helper()
	for _, name := range names {
		if err := tenantPlane.api.Create(f.Context(), newWidget(f.ns, name, 12)); err != nil {
			f.Fatal(err)
		}
	}
	images := map[string]types.UID{}
	want := len(widgets(f.T, tenantPlane.api, f.ns))
	wait.Until(f.T, "all widgets are down", func() bool {
		for _, b := range widgets(f.T, hostPlane.api, f.target) {
			images[b.GetName()] = b.GetUID()
		}
		return len(images) == want
	})
	return images
}

// TestLeaderElection verifies that one of two processes syncs, that it ends with an error
// when it cannot renew the lease and the other one takes over, and that a process that
// stops releases the lease. No object is created twice.
func TestLeaderElection(t *testing.T) {
	f := newTestSyncer(t, "elected", syncer.Options{})
	f.limitToNamespace()
	first := f.startReplica()
	first.waitForLead()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: f.target, Name: "syncer-elected"}}
	if !exists(t, hostPlane.api, lease) {
		t.Error("there is no lease by the name in the target namespace")
	}
	second := f.startReplica()
	before := f.createAndWait("a", "b", "c")
	wait.Until(t, "the second one waits, and serves probes", func() bool {
		return second.probe("/healthz") == http.StatusOK && second.probe("/readyz") == http.StatusOK
	})
	if !second.isWaiting() || first.creates.Load() == 0 || first.probe("/readyz") != http.StatusOK {
		t.Errorf("the first one made %d widgets; the second one waits: %t", first.creates.Load(), second.isWaiting())
	}

	first.cut.Store(true) // a lease that cannot be renewed
	if err := <-first.ended; err == nil || !strings.Contains(err.Error(), "leader election lost") {
		t.Errorf("the process that lost the lease ended with %v", err)
	}
	after := first.writes.Load()
	second.waitForLead()
	all := f.createAndWait("d")
	for name, uid := range before {
		if all[name] != uid {
			t.Errorf("%s was made again", name)
		}
	}
	wait.Until(t, "the second one has the response to its create", func() bool { return second.creates.Load() > 0 })
	if second.creates.Load() != 1 || first.writes.Load() != after {
		t.Errorf(
			"the second one made %d widgets, want 1; the first one wrote %d times since it ended", second.creates.Load(),
			first.writes.Load()-after)
	}

	third := f.startReplica()
	second.stop()
	if err := <-second.ended; err != nil {
		t.Errorf("the stopped process ended with %v", err)
	}
	third.waitForLead()
	if diff := cmp.Diff(all, f.createAndWait()); diff != "" {
		t.Errorf("images: -before, +after:\n%s", diff)
	}
	third.stop()
	if err := <-third.ended; err != nil {
		t.Error(err)
	}
}

// TestMetrics verifies that metrics are served over TLS only to authorized clients.
func TestMetrics(t *testing.T) {
	f := newTestSyncer(t, "measured", syncer.Options{})
	f.limitToNamespace()
	address := fmt.Sprintf("127.0.0.1:%d", port.Free(t))
	reg, err := syncer.NewRegisterContext(t.Context(), syncer.RegisterOptions{
		Virtual: f.tenantConf, Physical: f.hostConf, Scheme: scheme, Name: f.name, TargetNamespace: f.target,
		MetricsAddress: address,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, runner := make(chan error, 1), syncer.NewRunner(reg)
	go func() { ended <- runner.Start(ctx) }()
	<-runner.Ready()
	// The certificate of the server was made a moment ago, so no authority is known for it.
	c := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	get := func(token string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := c.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	wait.Until(t, "metrics are served", func() bool { code, _ := get(""); return code != 0 })
	if code, text := get(""); code != http.StatusUnauthorized || strings.Contains(text, "process_cpu") {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := get("unknown"); code != http.StatusUnauthorized {
		t.Errorf("with an unknown token: %d", code)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
