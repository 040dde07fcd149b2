package systemtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	"github.com/moorage-dev/moorage/examples/store-controller/internal/natsproc"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A cluster has servers, and a client that knows all of them.
type cluster struct {
	nodes []*natsproc.Node
	js    jetstream.JetStream
	foos  *natskv.Store[*foo.Foo]
}

func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	wait.Allow(t, time.Duration(*rounds)*2*time.Minute+
		time.Duration(*buckets)*10*time.Second+time.Duration(*primaries)*50*time.Millisecond)
	nodes, err := natsproc.Cluster(t.TempDir(), size)
	must(t, err)
	var urls []string
	for _, n := range nodes {
		must(t, n.Start())
		t.Cleanup(func() { _ = n.Kill() })
		urls = append(urls, n.URL())
	}
	nc, err := nats.Connect(strings.Join(urls, ","), nats.Timeout(wait.Patience()), nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond))
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	c := &cluster{nodes: nodes, js: js}
	within(t, "a bucket", func(ctx context.Context) (err error) {
		c.foos, err = natskv.New[*foo.Foo](ctx, js, "foos",
			natskv.Options{Kind: foo.Kind, Create: &jetstream.KeyValueConfig{Replicas: size}})

		return err
	})

	return c
}

// leader waits until a node other than old leads the stream, and returns it.
func (c *cluster) leader(t *testing.T, old *natsproc.Node) (found *natsproc.Node) {
	t.Helper()
	within(t, "a leader", func(ctx context.Context) (err error) {
		found, err = c.leads(ctx, old)

		return err
	})

	return found
}

func (c *cluster) leads(ctx context.Context, old *natsproc.Node) (*natsproc.Node, error) {
	stream, err := c.js.Stream(ctx, "KV_foos")
	if err != nil {
		return nil, err
	}
	for _, n := range c.nodes {
		if cluster := stream.CachedInfo().Cluster; n != old && cluster != nil && cluster.Leader == n.Name {
			return n, nil
		}
	}

	return nil, errors.New("nobody leads")
}

// within retries until try succeeds.
func within(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var err error
	defer func() {
		if err != nil {
			t.Logf("cannot have %s: %v", what, err)
		}
	}()
	wait.Until(t, what, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err = try(ctx)

		return err == nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A ledger counts the passes over each state of each object.
type ledger struct {
	mu     sync.Mutex
	passes map[string]int // by key and generation
	total  int
}

func (l *ledger) Reconcile(_ context.Context, key string, f *foo.Foo, found bool) (reconcile.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	if found {
		l.passes[state(key, f.Metadata.Generation)]++
	} else {
		l.passes[key+" gone"]++
	}

	return reconcile.Result{}, nil
}

func state(key string, generation int64) string { return fmt.Sprint(key, " ", generation) }

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.total
}

// A moment is how long a controller must be idle to count as done. The informers resync less often than that: what a
// resync finds comes later.
const (
	moment = 3 * time.Second
	resync = 20 * time.Second
)

// has waits until there was a pass over each of the states, and none for a while; then there must have been exactly one
// each.
func (l *ledger) has(t *testing.T, states map[string]bool, rest time.Duration) {
	t.Helper()
	within(t, "a pass over each change", func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		missing := 0
		for s := range states {
			if l.passes[s] == 0 {
				missing++
			}
		}
		if missing > 0 {
			return errors.Errorf("%d of %d are missing", missing, len(states))
		}

		return nil
	})
	before := l.count()
	<-time.After(rest)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total != before {
		t.Errorf("at rest there were %d more passes", l.total-before)
	}
	for s, n := range l.passes {
		if n != 1 || !states[s] {
			t.Errorf("%d passes over %s, which is a state: %t", n, s, states[s])
		}
	}
}

// start runs a controller that keeps a ledger.
func (c *cluster) start(t *testing.T) (*store.Informer[*foo.Foo], *ledger) {
	t.Helper()
	l := &ledger{passes: map[string]int{}}
	i := store.NewInformer[*foo.Foo](c.foos, store.InformerOptions{Resync: resync})
	ctl, err := storecontroller.New(nil, "ledger", foo.Kind, i, l, storecontroller.Options{
		TypedOptions: controller.TypedOptions[storecontroller.Request]{MaxConcurrentReconciles: 4,
			SkipNameValidation: new(true)}, Resync: -1,
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = i.Start(ctx) })
	running.Go(func() { _ = ctl.Start(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)

	return i, l
}

// many calls a function for each of n numbers, several at a time.
func many(t *testing.T, n int, do func(ctx context.Context, n int) error) {
	t.Helper()
	const workers = 16
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				for {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					err := do(ctx, i)
					cancel()
					if err == nil {
						break
					}
					if wait.Budget(t) == 0 {
						t.Errorf("cannot do number %d: %v", i, err)

						return
					}
					<-time.After(50 * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
}

func key(n int) string { return fmt.Sprintf("ns/foo%05d", n) }

// create creates a Foo. ErrAlreadyExists may be the result of a retry.
func (c *cluster) create(ctx context.Context, n int) error {
	_, err := c.foos.Create(ctx, &foo.Foo{Metadata: store.Metadata{Key: key(n)}, Spec: foo.Spec{Replicas: 1}})
	if errors.Is(err, store.ErrAlreadyExists) {
		return nil
	}

	return err
}

// make creates a Foo, and drop deletes one. A busy server may do so and respond too late.
func (c *cluster) make(t *testing.T, f *foo.Foo) {
	t.Helper()
	within(t, "the Foo "+f.Metadata.Key, func(ctx context.Context) error {
		if _, err := c.foos.Create(ctx, f); !errors.Is(err, store.ErrAlreadyExists) {
			return err
		}

		return nil
	})
}

func (c *cluster) drop(t *testing.T, key string) {
	t.Helper()
	within(t, "no Foo "+key, func(ctx context.Context) error {
		if err := c.foos.Delete(ctx, key); !errors.Is(err, store.ErrNotFound) {
			return err
		}

		return nil
	})
}

// scale changes the replicas of a Foo. A retry changes nothing.
func (c *cluster) scale(ctx context.Context, n int, replicas int32) error {
	f, err := c.foos.Get(ctx, key(n))
	if err != nil {
		return err
	}
	f.Spec.Replicas = replicas
	_, err = c.foos.Update(ctx, f)

	return err
}

// TestClusterLosesANode kills a node while objects are being changed, and restarts it while they still are; then it
// does the same with the leader. There is exactly one pass over every change.
func TestClusterLosesANode(t *testing.T) {
	c := newCluster(t, 3)
	begin := time.Now()
	many(t, *primaries, c.create)
	states := map[string]bool{}
	for n := range *primaries {
		states[state(key(n), 1)] = true
	}
	t.Logf("created %d in %s", *primaries, time.Since(begin).Round(time.Millisecond))
	informer, l := c.start(t)
	l.has(t, states, moment)

	c.killAndChange(t, c.follower(t), 2, states)
	l.has(t, states, moment)
	c.killAndChange(t, c.leader(t, nil), 3, states)
	rest := moment
	if *bounds { // there is time for another resync
		rest += resync + resync/2
	}
	l.has(t, states, rest)
	if held := informer.Held(); len(held) != 0 {
		t.Errorf("%d objects are held", len(held))
	}
}

// follower returns a node that does not lead the stream: the one that the client is connected to, if possible.
func (c *cluster) follower(t *testing.T) (found *natsproc.Node) {
	t.Helper()
	leader := c.leader(t, nil)
	for _, n := range c.nodes {
		if n != leader && (found == nil || n.URL() == c.js.Conn().ConnectedUrl()) {
			found = n
		}
	}

	return found
}

// killAndChange changes objects, several at a time. The node is killed after a quarter of the writes and started again
// after three quarters, while the other writers continue.
func (c *cluster) killAndChange(t *testing.T, node *natsproc.Node, replicas int32, states map[string]bool) {
	t.Helper()
	var written, underWay, interrupted atomic.Int64
	quarter := int64(*changes / 4)
	killed := make(chan error, 1)
	var started error
	many(t, *changes, func(ctx context.Context, n int) error {
		underWay.Add(1)
		err := c.scale(ctx, n, replicas)
		underWay.Add(-1)
		if err != nil {
			return err
		}
		switch written.Add(1) {
		case quarter:
			interrupted.Store(underWay.Load())
			killed <- node.Kill()
		case 3 * quarter:
			if started = <-killed; started == nil {
				started = node.Start()
			}
		}

		return nil
	})
	must(t, started)
	t.Logf("%s was killed under %d writes", node.Name, interrupted.Load())
	if interrupted.Load() == 0 {
		t.Error("nothing was being written when the node was killed")
	}
	for n := range *changes {
		states[state(key(n), int64(replicas))] = true
	}
}

// whole returns an error unless every replica of the stream has received everything.
func (c *cluster) whole(ctx context.Context, name string) error {
	stream, err := c.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	info := stream.CachedInfo().Cluster
	if info == nil || info.Leader == "" || len(info.Replicas) != len(c.nodes)-1 {
		return errors.New("the cluster is not whole")
	}
	for _, r := range info.Replicas {
		if !r.Current || r.Offline || r.Lag > 0 {
			return errors.Errorf("%s is behind", r.Name)
		}
	}

	return nil
}
