package systemtest

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/natsproc"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
)

// TestManagedReconciler: the managed reconciler behaves with its objects in NATS as with objects on an API server, and
// sends no more requests. Those that reach the server are counted, too.
func TestManagedReconciler(t *testing.T) {
	t.Parallel() // it waits, most of the time
	for name, story := range map[string]func(*testing.T, stories.Place){
		"RequestBudget":                  stories.RequestBudget,
		"RequestBudgetDeterministicName": stories.RequestBudgetDeterministicName,
		"RequestBudgetWithEverything":    stories.RequestBudgetWithEverything,
		"Finalizer":                      stories.Finalizer,
		"BadInput":                       stories.BadInput,
		"HugeAnnotations":                stories.HugeAnnotations,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, inNATS)
		})
	}
}

// theirs is the prefix of the inboxes of a provider's connection, which distinguishes its requests from those of the
// tests.
const theirs = "_PROVIDER"

// inNATS returns a provider with its objects in its own server.
func inNATS(t *testing.T) (*stories.Provider, manager.Manager) {
	t.Helper()
	p, m, _ := inServer(t, time.Minute) // a request that times out is sent again, and counted

	return p, m
}

// inServer returns the server, too. The provider and the test have one connection each. The timeout is that of their
// requests; zero is the default.
func inServer(t *testing.T, timeout time.Duration) (*stories.Provider, manager.Manager, *natsproc.Node) {
	t.Helper()
	nodes, err := natsproc.Cluster(t.TempDir(), 1)
	must(t, err)
	must(t, nodes[0].Start())
	t.Cleanup(func() { _ = nodes[0].Kill() })
	scheme, err := stories.Scheme()
	must(t, err)
	ours := dial(t, nodes[0])
	api, err := kube.NewClient(scheme, kinds(t, ours, timeout))
	must(t, err)
	p, m := stories.InStores(t, scheme, client.Client(api),
		kinds(t, dial(t, nodes[0], nats.CustomInboxPrefix(theirs)), timeout)...)
	p.Wire = listen(t, ours)

	return p, m, nodes[0]
}

func dial(t *testing.T, n *natsproc.Node, o ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(n.URL(), append(o, nats.Timeout(time.Minute), nats.MaxReconnects(-1))...)
	must(t, err)
	t.Cleanup(nc.Close)

	return nc
}

func kinds(t *testing.T, nc *nats.Conn, timeout time.Duration) []kube.Kind {
	t.Helper()
	js, err := jetstream.New(nc)
	must(t, err)

	return []kube.Kind{
		kube.Serve(storeOf[*volume.Volume](t, js, "volumes", timeout)),
		kube.Serve(storeOf[*volume.Snapshot](t, js, "snapshots", timeout)),
		kube.Serve(storeOf[*volume.ProviderConfig](t, js, "configs", timeout)),
		kube.Serve(storeOf[*corev1.Secret](t, js, "secrets", timeout)),
		kube.Serve(storeOf[*eventsv1.Event](t, js, "events", timeout)),
	}
}

func storeOf[T client.Object](
	t *testing.T, js jetstream.JetStream, bucket string, timeout time.Duration,
) (s *natskv.Store[*kube.Envelope[T]]) {
	t.Helper()
	within(t, "the bucket "+bucket, func(ctx context.Context) (err error) {
		s, err = natskv.New[*kube.Envelope[T]](ctx, js, bucket,
			natskv.Options{Kind: bucket, Create: &jetstream.KeyValueConfig{}, Timeout: timeout})

		return err
	})

	return s
}

// A wire counts the requests about objects that a provider sends to the server. It does not count those that keep its
// watches alive, which ask for the next message of a bucket: on a busy machine watches restart.
type wire struct {
	mu            sync.Mutex
	reads, writes int
}

func listen(t *testing.T, nc *nats.Conn) *wire {
	t.Helper()
	w := &wire{}
	for subject, count := range map[string]*int{
		"$JS.API.STREAM.MSG.GET.>": &w.reads, "$JS.API.DIRECT.GET.>": &w.reads, "$KV.>": &w.writes,
	} {
		_, err := nc.Subscribe(subject, func(m *nats.Msg) {
			if !strings.HasPrefix(m.Reply, theirs) || bytes.Contains(m.Data, []byte(`"next_by_subj"`)) {
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			*count++
		})
		must(t, err)
	}
	must(t, nc.Flush())

	return w
}

// Count returns the requests since the last Reset.
func (w *wire) Count() (reads, writes int) {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.reads, w.writes
}

// Reset sets the counts to zero.
func (w *wire) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads, w.writes = 0, 0
}
