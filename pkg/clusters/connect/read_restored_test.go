package connect

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A restoredAPI is an API server whose versions a test sets back, and a controller with a
// cache of it.
type restoredAPI struct {
	*testing.T

	server   client.Client
	stale    *clustersv1alpha1.Cluster // what the cache shows, nil for what the server has
	reads    int                       // of Clusters, from the server itself
	writes   int
	requests int // how often the cluster was
	clock    *testclock.FakePassiveClock
	cache    *clusters.Cache[http.RoundTripper]
	events   []event.Event
	r        *reconciler
}

// newRestoredAPI returns an API server with some objects and a Secret.
func newRestoredAPI(t *testing.T, objects ...client.Object) *restoredAPI {
	t.Helper()
	p := &restoredAPI{T: t, clock: testclock.NewFakePassiveClock(time.Unix(1e9, 0))}
	p.cache = clusters.NewCache(func(_ context.Context, _ clusters.Key, in clusters.Input) (http.RoundTripper, error) {
		return in.RESTConfig.WrapTransport(restoredTransport{}), nil
	}, clusters.CacheOptions[http.RoundTripper]{})
	t.Cleanup(p.cache.Close)
	p.restore("999", objects...)
	cached := interceptor.NewClient(p.server.(client.WithWatch), interceptor.Funcs{
		Get: func(
			ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption,
		) error {
			if c, ok := o.(*clustersv1alpha1.Cluster); ok && p.stale != nil {
				p.stale.DeepCopyInto(c)

				return nil
			}

			return p.server.Get(ctx, key, o)
		},
		SubResourcePatch: func(
			ctx context.Context, _ client.Client, _ string, o client.Object, patch client.Patch,
			_ ...client.SubResourcePatchOption,
		) error {
			p.writes++

			return p.server.Status().Patch(ctx, o, patch)
		},
	})
	live := interceptor.NewClient(p.server.(client.WithWatch), interceptor.Funcs{
		Get: func(
			ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption,
		) error {
			if _, ok := o.(*clustersv1alpha1.Cluster); ok {
				p.reads++
			}

			return p.server.Get(ctx, key, o)
		},
	})
	p.r = newReconciler(cached, live, p.cache, options{
		logger: logging.NewNopLogger(), recorder: recorder{event.NewNopRecorder(), p}, clock: p.clock,
		recheckInterval: time.Minute, probeInterval: 15 * time.Second,
	})
	p.r.request = func(context.Context, *record, string) ([]byte, error) {
		p.requests++

		return []byte(`{"gitVersion":"v1.36.4"}`), nil
	}

	return p
}

// restore replaces all objects of the API server by these, and a Secret with a version.
func (p *restoredAPI) restore(secretVersion string, objects ...client.Object) {
	p.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "east", UID: "secret", ResourceVersion: secretVersion},
		Data:       map[string][]byte{"kubeconfig": []byte(validKubeconfig)},
	}
	p.server = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(
		objects, secret)...).WithStatusSubresource(&clustersv1alpha1.Cluster{}).Build()
}

// getCluster returns the Cluster of the API server.
func (p *restoredAPI) getCluster() *clustersv1alpha1.Cluster {
	p.Helper()
	c := newCluster("default", "east")
	if err := p.server.Get(p.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		p.Fatal(err)
	}

	return c
}

// reconcileFor runs passes for a duration, each when the one before has requested it.
func (p *restoredAPI) reconcileFor(whole time.Duration) {
	p.Helper()
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "east"}}
	for end := p.clock.Now().Add(whole); p.clock.Now().Before(end); {
		result, err := p.r.Reconcile(p.Context(), request)
		if err != nil {
			p.Fatal(err)
		}
		p.clock.SetTime(p.clock.Now().Add(max(result.RequeueAfter, time.Second)))
	}
}

const validKubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":"https://east.example"}}],"users":[{"name":"u","user":{"token":"t"}}]}`

// clusterAt returns a Cluster with a resourceVersion.
func clusterAt(version int, change ...func(*clustersv1alpha1.Cluster)) *clustersv1alpha1.Cluster {
	c := newCluster("default", "east")
	c.UID, c.ResourceVersion, c.Generation = "uid", strconv.Itoa(version), 1
	for _, do := range change {
		do(c)
	}

	return c
}

// TestStaleReadAfterRestore verifies that a Cluster does not wait for the versions that
// this process remembers if the API server was restored and returns lower ones: its
// current state counts, and few requests are sent.
func TestStaleReadAfterRestore(t *testing.T) {
	const before, after = 1500, 2500
	connected := func(c *clustersv1alpha1.Cluster) {
		c.Status.Revision, c.Status.Error = "before", ""
		c.SetConditions(commonv1.Condition{
			Type: commonv1.TypeConnected, Status: metav1.ConditionTrue, Reason: commonv1.ReasonConnectionAvailable,
		})
	}

	for name, tc := range map[string]struct {
		reason   string
		restored *clustersv1alpha1.Cluster
		unseen   bool // the cache shows what there was before the restore
		restart  bool // of the process
		reads    int
	}{
		"CacheListedAnew": {"the cache shows what was restored", clusterAt(before), false, false, 1},
		"OldRevision":     {"it had other credentials in the snapshot", clusterAt(before, connected), false, false, 1},
		"CacheDoesNotKnow": {
			"the watch waits for lost versions: writes based on the cache conflict", clusterAt(before), true, false, 1,
		},
		"ProcessRestart": {"a new process remembers no version", clusterAt(before), false, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRestoredAPI(t, clusterAt(after))
			p.reconcileFor(time.Second)
			if now := p.getCluster(); now.Status.Revision == "" || p.requests != 1 {
				t.Fatalf("it is not connected: %+v, asked %d times", now.Status, p.requests)
			}

			if tc.unseen {
				p.stale = p.getCluster()
			}
			p.restore("998", tc.restored)
			if tc.restart {
				p.r = newReconciler(p.r.client, p.r.apiReader, p.cache, p.r.options)
				p.r.request = func(context.Context, *record, string) ([]byte, error) { return nil, nil }
			}
			p.writes = 0
			p.reconcileFor(90 * time.Second)
			p.stale = nil
			p.reconcileFor(time.Second)
			in, ok := p.cache.Known(client.ObjectKey{Namespace: "default", Name: "east"})
			if now := p.getCluster(); !ok || now.Status.Revision != string(in.Revision) {
				t.Errorf("%s: its status has revision %q, the connection %q", tc.reason, now.Status.Revision, in.Revision)
			}
			if p.reads != tc.reads || p.writes > 4 {
				t.Errorf("%s: %d reads of the API server, want %d, and %d writes", tc.reason, p.reads, tc.reads, p.writes)
			}

			p.reads, p.writes = 0, 0
			p.reconcileFor(10 * time.Minute)
			if p.reads != 0 || p.writes != 0 {
				t.Errorf("steady: %d reads of the API server and %d writes, want none", p.reads, p.writes)
			}
		})
	}
}

// TestStaleCacheCatchesUp verifies that passes wait for a stale cache without reads from
// the API server.
func TestStaleCacheCatchesUp(t *testing.T) {
	p := newRestoredAPI(t, clusterAt(2500))
	p.stale = clusterAt(2500)
	p.reconcileFor(3 * time.Second)
	if p.reads != 0 || p.writes != 1 {
		t.Errorf("%d reads of the API server and %d writes, want none and one", p.reads, p.writes)
	}
	p.stale = nil
	p.reconcileFor(10 * time.Minute)
	if p.reads != 0 || p.writes != 1 {
		t.Errorf("once it has caught up: %d reads of the API server and %d writes, want none and one", p.reads, p.writes)
	}
}

// TestStaleCacheOfDeletedCluster verifies that a Cluster which the API server does not
// have any more is dropped although the cache still contains it.
func TestStaleCacheOfDeletedCluster(t *testing.T) {
	p := newRestoredAPI(t, clusterAt(2500))
	p.stale = clusterAt(2500)
	p.reconcileFor(time.Second)
	p.restore("999")
	p.reconcileFor(4 * time.Second)
	if _, ok := p.cache.Known(client.ObjectKey{Namespace: "default", Name: "east"}); ok || p.reads != 1 {
		t.Errorf("its connection is kept (%t) after %d reads of the API server, want one", ok, p.reads)
	}
}

// restoredTransport is an API server with version 219.
type restoredTransport struct{}

// RoundTrip responds with a list of that version.
func (restoredTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"metadata":{"resourceVersion":"219"}}`)),
		Request: r,
	}, nil
}

// recorder records events.
type recorder struct {
	event.Recorder

	p *restoredAPI
}

// Event records an event.
func (t recorder) Event(_ runtime.Object, e event.Event) { t.p.events = append(t.p.events, e) }

// TestEventForRestore verifies that the connection to a restored cluster is replaced with
// one event per restore.
func TestEventForRestore(t *testing.T) {
	p, key := newRestoredAPI(t, clusterAt(2500)), client.ObjectKey{Namespace: "default", Name: "east"}
	p.reconcileFor(time.Second)
	for range 2 {
		p.events = nil
		lease, err := p.cache.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			request, err := http.NewRequestWithContext(
				t.Context(), http.MethodGet, "https://east.example/api/v1/pods?watch=true&resourceVersion=874", nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := lease.Client.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
		}
		lease.Release()
		p.reconcileFor(time.Minute)
		if len(p.events) != 1 || p.events[0].Type != event.TypeWarning || p.events[0].Reason != ReasonConnectionLost ||
			!strings.Contains(p.events[0].Message, "pods was 874 and is 219 now") {
			t.Errorf("events: %+v", p.events)
		}
		if lease.Context.Err() == nil {
			t.Error("the connection is not replaced")
		}
	}
	if now := p.getCluster(); now.GetCondition(commonv1.TypeConnected).Status != metav1.ConditionTrue || p.writes != 1 {
		t.Errorf("%d writes, and the status is %+v", p.writes, now.Status)
	}
}
