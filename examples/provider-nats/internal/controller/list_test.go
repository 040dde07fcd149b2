package controller_test

import (
	"container/heap"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	managerfake "github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A visit is the time at which an object is due.
type visit struct {
	due time.Time
	key types.NamespacedName
}

// visits are the queue of a controller with one worker, in simulated time.
type visits []visit

func (v visits) Len() int           { return len(v) }
func (v visits) Less(i, j int) bool { return v[i].due.Before(v[j].due) }
func (v visits) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(x any)        { *v = append(*v, x.(visit)) }

func (v *visits) Pop() any {
	old := *v
	last := old[len(old)-1]
	*v = old[:len(old)-1]

	return last
}

// A streamFleet is a NATS server, and many Streams with a reconciler.
type streamFleet struct {
	*testing.T

	nats   *server.Server
	js     jetstream.JetStream
	kube   kube.Client
	clock  *testclock.FakePassiveClock
	r      *managed.Reconciler
	visits visits
}

const fleetPoll = time.Minute

// newStreamFleet creates streams by the reconciler.
func newStreamFleet(t *testing.T, streams int, o func(*controller.Connecter) []managed.ReconcilerOption) *streamFleet {
	t.Helper()

	p := &streamFleet{T: t, nats: natstest.Start(t), clock: testclock.NewFakePassiveClock(time.Now())}
	p.js = natstest.JetStream(t, p.nats)
	scheme := runtime.NewScheme()
	must(t, v1alpha1.AddToScheme(scheme))

	pc := providerConfig(p.nats.ClientURL())
	pc.Spec.Credentials = v1alpha1.Credentials{Source: v1alpha1.CredentialsNone}
	builder := kubefake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Stream{}).WithObjects(pc)
	memory, description := "memory", "made here"

	for i := range streams {
		name := fmt.Sprintf("s-%05d", i)
		cr := stream(func(s *v1alpha1.Stream) {
			s.ObjectMeta = metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Generation: 1}
			s.Spec.ForProvider.Storage, s.Spec.ForProvider.Description = &memory, &description
		})
		meta.SetExternalName(cr, name)
		builder.WithObjects(cr)
		p.visits = append(p.visits, visit{p.clock.Now(), kube.ObjectKeyFromObject(cr)})
	}

	p.kube = builder.Build()
	connections := controller.NewConnections(p.kube, p.kube)
	t.Cleanup(connections.Close)

	connecter := controller.NewConnecter(connections, controller.StreamKind(), cluster)
	p.r = managed.NewReconciler(&managerfake.Manager{Client: p.kube, Scheme: scheme},
		resource.ManagedKind(controller.StreamKind().GroupVersionKind()),
		append([]managed.ReconcilerOption{
			managed.WithClock(p.clock), managed.WithRandom(rand.Float64), managed.WithPollInterval(fleetPoll),
			managed.WithExternalConnecter(connecter), managed.WithDeterministicExternalName(true),
			managed.WithCreationGracePeriod(0), managed.WithVolatileStatus(controller.VolatileStatus()...),
		}, o(connecter)...)...)

	return p
}

// run advances the time.
func (p *streamFleet) run(d time.Duration) {
	p.Helper()

	for end := p.clock.Now().Add(d); ; {
		next := p.visits[0]
		if next.due.After(end) {
			p.clock.SetTime(end)

			return
		}

		if next.due.After(p.clock.Now()) {
			p.clock.SetTime(next.due)
		}

		result, err := p.r.Reconcile(p.Context(), reconcile.Request{NamespacedName: next.key})
		if err != nil || result.RequeueAfter <= 0 {
			p.Fatalf("%s: %+v, %v", next.key, result, err)
		}

		p.visits[0].due = p.clock.Now().Add(result.RequeueAfter)
		heap.Fix(&p.visits, 0)
	}
}

// asked returns how many requests the API of JetStream has received.
func (p *streamFleet) asked() uint64 {
	p.Helper()

	state, err := p.nats.Jsz(&server.JSzOptions{})
	must(p.T, err)

	return state.API.Total
}

var streams = flag.Int("streams", 1000, "how many streams TestManyStreamsArePolledByAList has; 1,000 at least")

// TestManyStreamsArePolledByAList polls streams by one call per page: forty for ten thousand.
func TestManyStreamsArePolledByAList(t *testing.T) {
	pages := uint64(*streams+255) / 256

	p := newStreamFleet(t, *streams, func(*controller.Connecter) []managed.ReconcilerOption {
		return []managed.ReconcilerOption{managed.WithBulkObservation(0)}
	})
	p.run(2 * fleetPoll) // created, and observed

	for range 3 {
		before := p.asked()
		p.run(fleetPoll)

		calls := p.asked() - before
		t.Logf("%d calls in a poll interval of %d streams", calls, *streams)

		if calls < pages || calls > pages+5 {
			t.Errorf("%d calls in a poll interval, want one for each page of 256 streams", calls)
		}
	}

	must(t, p.js.DeleteStream(t.Context(), "s-00471"))
	info, err := p.js.Stream(t.Context(), "s-00815")
	must(t, err)

	cfg := info.CachedInfo().Config
	cfg.Description = "changed behind its back"
	_, err = p.js.UpdateStream(t.Context(), cfg)
	must(t, err)

	before := p.asked()
	p.run(fleetPoll * 3 / 2)
	t.Logf("%d calls while two streams are put right", p.asked()-before)

	for _, name := range []string{"s-00471", "s-00815"} {
		s, err := p.js.Stream(t.Context(), name)
		must(t, err)

		if got := s.CachedInfo().Config.Description; got != "made here" {
			t.Errorf("%s: description %q", name, got)
		}
	}
}

// TestChangesOfStreamsAreNotified: changes by other clients are notified at once, those of the provider
// itself are not.
func TestChangesOfStreamsAreNotified(t *testing.T) {
	p := newStreamFleet(t, 10, func(c *controller.Connecter) []managed.ReconcilerOption {
		return []managed.ReconcilerOption{managed.WithBulkObservation(0), managed.WithExternalEvents(c, 10*fleetPoll)}
	})
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())

	t.Cleanup(queue.ShutDown)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	must(t, p.r.Notifications().Start(ctx, queue))
	p.run(2 * fleetPoll)

	before := p.asked()
	p.run(8 * fleetPoll)

	if calls := p.asked() - before; calls > 5 {
		t.Errorf("%d calls in eight poll intervals, while changes are notified", calls)
	}

	must(t, p.js.DeleteStream(t.Context(), "s-00003"))

	changed, _ := queue.Get()
	if changed.Name != "s-00003" {
		t.Errorf("notified of %s, want the stream that was deleted, and none of the provider's own changes", changed)
	}

	_, err := p.r.Reconcile(ctx, changed)
	must(t, err)

	_, err = p.js.Stream(ctx, "s-00003")
	must(t, err)

	if queue.Len() > 0 {
		t.Errorf("%d objects were notified without a change", queue.Len())
	}
}
