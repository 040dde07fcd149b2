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

// A platform is an API server whose versions a test sets back, and a controller with a cache
// of it.
type platform struct {
	*testing.T

	server client.Client
	stale  *clustersv1alpha1.Cluster // what the cache shows, nil for what the server has
	reads  int                       // of Clusters, from the server itself
	writes int
	asked  int // how often the cluster was
	clock  *testclock.FakePassiveClock
	cache  *clusters.Cache[http.RoundTripper]
	told   []event.Event
	r      *reconciler
}

func newPlatform(t *testing.T, objects ...client.Object) *platform {
	t.Helper()
	p := &platform{T: t, clock: testclock.NewFakePassiveClock(time.Unix(1e9, 0))}
	p.cache = clusters.NewCache(func(_ context.Context, _ clusters.Key, in clusters.Input) (http.RoundTripper, error) {
		return in.RESTConfig.WrapTransport(putBack{}), nil
	}, clusters.CacheOptions[http.RoundTripper]{})
	t.Cleanup(p.cache.Close)
	p.restore("999", objects...)
	cached := interceptor.NewClient(p.server.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			if c, ok := o.(*clustersv1alpha1.Cluster); ok && p.stale != nil {
				p.stale.DeepCopyInto(c)

				return nil
			}

			return p.server.Get(ctx, key, o)
		},
		SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
			p.writes++

			return p.server.Status().Patch(ctx, o, patch)
		},
	})
	live := interceptor.NewClient(p.server.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			if _, ok := o.(*clustersv1alpha1.Cluster); ok {
				p.reads++
			}

			return p.server.Get(ctx, key, o)
		},
	})
	p.r = newReconciler(cached, live, p.cache, options{
		logger: logging.NewNopLogger(), recorder: teller{event.NewNopRecorder(), p}, clock: p.clock, recheck: time.Minute, probe: 15 * time.Second,
	})
	p.r.ask = func(context.Context, *record, string) ([]byte, error) {
		p.asked++

		return []byte(`{"gitVersion":"v1.36.4"}`), nil
	}

	return p
}

// restore lets the API server have these objects, a Secret of a version, and no others.
func (p *platform) restore(secretVersion string, objects ...client.Object) {
	p.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "sea", Name: "east", UID: "secret", ResourceVersion: secretVersion}, Data: map[string][]byte{"kubeconfig": []byte(validKubeconfig)}}
	p.server = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, secret)...).WithStatusSubresource(&clustersv1alpha1.Cluster{}).Build()
}

// has returns the Cluster as the API server has it.
func (p *platform) has() *clustersv1alpha1.Cluster {
	p.Helper()
	c := newCluster("sea", "east")
	if err := p.server.Get(p.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		p.Fatal(err)
	}

	return c
}

// passes runs passes for as long as that takes, each when the one before asked for it.
func (p *platform) passes(whole time.Duration) {
	p.Helper()
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "sea", Name: "east"}}
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

func clusterAt(version int, change ...func(*clustersv1alpha1.Cluster)) *clustersv1alpha1.Cluster {
	c := newCluster("sea", "east")
	c.UID, c.ResourceVersion, c.Generation = "uid", strconv.Itoa(version), 1
	for _, do := range change {
		do(c)
	}

	return c
}

// TestRewound: the platform was restored to an older state, so that it gives out versions
// which are lower than those of the writes that this process remembers. A Cluster does not
// wait until they have caught up: what the platform has now counts, and few requests are
// sent.
func TestRewound(t *testing.T) {
	const before, after = 1500, 2500
	said := func(c *clustersv1alpha1.Cluster) {
		c.Status.Revision, c.Status.Error = "before", ""
		c.SetConditions(commonv1.Condition{Type: commonv1.TypeConnected, Status: metav1.ConditionTrue, Reason: commonv1.ReasonConnectionAvailable})
	}

	for name, tc := range map[string]struct {
		reason   string
		restored *clustersv1alpha1.Cluster
		unseen   bool // the cache shows what there was before the restore
		restart  bool // of the process
		reads    int
	}{
		"CacheListedAnew": {"the cache shows what was restored", clusterAt(before), false, false, 1},
		"OldRevision":     {"it had other credentials in the snapshot", clusterAt(before, said), false, false, 1},
		"CacheDoesNotKnow": {
			"the watch waits for versions of the time before: what is written by the cache conflicts", clusterAt(before), true, false, 1,
		},
		"ProcessRestart": {"a process that has seen nothing asks nobody", clusterAt(before), false, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlatform(t, clusterAt(after))
			p.passes(time.Second)
			if now := p.has(); now.Status.Revision == "" || p.asked != 1 {
				t.Fatalf("it is not connected: %+v, asked %d times", now.Status, p.asked)
			}

			if tc.unseen {
				p.stale = p.has()
			}
			p.restore("998", tc.restored)
			if tc.restart {
				p.r = newReconciler(p.r.client, p.r.live, p.cache, p.r.o)
				p.r.ask = func(context.Context, *record, string) ([]byte, error) { return nil, nil }
			}
			p.writes = 0
			p.passes(90 * time.Second)
			p.stale = nil
			p.passes(time.Second)
			in, ok := p.cache.Known(client.ObjectKey{Namespace: "sea", Name: "east"})
			if now := p.has(); !ok || now.Status.Revision != string(in.Revision) {
				t.Errorf("%s: its status has revision %q, the connection %q", tc.reason, now.Status.Revision, in.Revision)
			}
			if p.reads != tc.reads || p.writes > 4 {
				t.Errorf("%s: %d reads of the API server, want %d, and %d writes", tc.reason, p.reads, tc.reads, p.writes)
			}

			p.reads, p.writes = 0, 0
			p.passes(10 * time.Minute)
			if p.reads != 0 || p.writes != 0 {
				t.Errorf("steady: %d reads of the API server and %d writes, want none", p.reads, p.writes)
			}
		})
	}
}

// TestCacheThatCatchesUp: a cache that is a little behind is waited for, and the API server
// is not asked.
func TestCacheThatCatchesUp(t *testing.T) {
	p := newPlatform(t, clusterAt(2500))
	p.stale = clusterAt(2500)
	p.passes(3 * time.Second)
	if p.reads != 0 || p.writes != 1 {
		t.Errorf("%d reads of the API server and %d writes, want none and one", p.reads, p.writes)
	}
	p.stale = nil
	p.passes(10 * time.Minute)
	if p.reads != 0 || p.writes != 1 {
		t.Errorf("once it has caught up: %d reads of the API server and %d writes, want none and one", p.reads, p.writes)
	}
}

// TestGoneWithoutEvent: what the API server does not have any more is dropped, although the
// cache still shows it.
func TestGoneWithoutEvent(t *testing.T) {
	p := newPlatform(t, clusterAt(2500))
	p.stale = clusterAt(2500)
	p.passes(time.Second)
	p.restore("999")
	p.passes(4 * time.Second)
	if _, ok := p.cache.Known(client.ObjectKey{Namespace: "sea", Name: "east"}); ok || p.reads != 1 {
		t.Errorf("its connection is kept (%t) after %d reads of the API server, want one", ok, p.reads)
	}
}

// A putBack API server has version 219, whatever it is asked for.
type putBack struct{}

func (putBack) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"metadata":{"resourceVersion":"219"}}`)), Request: r}, nil
}

type teller struct {
	event.Recorder

	p *platform
}

func (t teller) Event(_ runtime.Object, e event.Event) { t.p.told = append(t.p.told, e) }

// TestARestoreIsTold: the connection to a cluster that was restored to an earlier state is
// replaced, and an event on the Cluster tells that, once for each restore.
func TestARestoreIsTold(t *testing.T) {
	p, key := newPlatform(t, clusterAt(2500)), client.ObjectKey{Namespace: "sea", Name: "east"}
	p.passes(time.Second)
	for range 2 {
		p.told = nil
		lease, err := p.cache.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://east.example/api/v1/pods?watch=true&resourceVersion=874", nil)
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
		p.passes(time.Minute)
		if len(p.told) != 1 || p.told[0].Type != event.TypeWarning || p.told[0].Reason != ReasonConnectionLost || !strings.Contains(p.told[0].Message, "pods had version 874") {
			t.Errorf("told: %+v", p.told)
		}
		if lease.Context.Err() == nil {
			t.Error("the connection is not replaced")
		}
	}
	if now := p.has(); now.GetCondition(commonv1.TypeConnected).Status != metav1.ConditionTrue || p.writes != 1 {
		t.Errorf("%d writes, and the status is %+v", p.writes, now.Status)
	}
}
