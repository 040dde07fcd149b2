package systemtest

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// An outage makes an API server unavailable and available again.
type outage struct{ begin, end func() error }

// A wire is the connection to an API server, which can be cut.
type wire struct {
	http.RoundTripper

	cut *atomic.Bool
}

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.cut.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}

	return w.RoundTripper.RoundTrip(r)
}

func TestAResultSurvivesAnAPIServerThatIsDownForTenSeconds(t *testing.T) {
	own, err := devcluster.Start(t.Context(), devcluster.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Stop() })
	c, err := own.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	ownAPI, err := install(c)
	if err != nil {
		t.Fatal(err)
	}
	killed := outage{own.Kill, func() error { return own.Restart(context.Background()) }}
	for range 2 {
		if survives(t, killed, newBench(t, c, ownAPI)) {
			return
		}
	}
	// This machine starts an API server too slowly: it keeps running, and is unreachable.
	way := &atomic.Bool{}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return wire{next, way} })
	if ownAPI, err = client.New(c, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	cut := outage{func() error { way.Store(true); return nil }, func() error { way.Store(false); return nil }}
	wait.Until(t, "ten seconds take less than fifteen",
		func() bool { return survives(t, cut, newBench(t, rest.CopyConfig(c), ownAPI)) })
}

// survives creates a volume while the API server is unavailable for ten seconds and its restart. It returns false if
// that took longer than half a minute, the longest time for which a result is retried.
func survives(t *testing.T, o outage, b *bench) bool {
	t.Helper()
	var began time.Time
	back := make(chan error, 1)
	b.cloud.After = once("Create", func() {
		if err := o.begin(); err != nil {
			t.Error(err)
		}
		began = time.Now()
		go func() {
			<-time.After(10 * time.Second)
			back <- o.end()
		}()
	})
	_, failed := b.pass()
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	down := time.Since(began)
	stories.Figure("failed requests while the API server was down", failures(b.ledger))
	v := b.get()
	if failed == nil && meta.GetExternalName(v) == "vol-1" && !meta.ExternalCreateIncomplete(v) &&
		len(b.cloud.Disks()) == 1 {
		return true
	}
	if down < 15*time.Second {
		t.Fatalf("after %s: error %v, annotations %v, disks %v", down, failed, v.Annotations, b.cloud.Disks())
	}
	t.Logf("the API server was down for %s", down)

	return false
}

func failures(l *test.Ledger) int {
	n := 0
	for _, r := range l.Objects() {
		if r.Status == 0 {
			n++
		}
	}

	return n
}
