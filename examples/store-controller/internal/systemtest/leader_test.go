package systemtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	"github.com/moorage-dev/moorage/examples/store-controller/internal/natsproc"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// holder returns the node that both leads the stream and has the consumer of the watch: the loss of this node hurts a
// watch most. If another node leads, that steps down.
func (c *cluster) holder(t *testing.T) (found *natsproc.Node) {
	t.Helper()
	within(t, "a leader that has the consumer", func(ctx context.Context) error {
		stream, err := c.js.Stream(ctx, "KV_foos")
		if err != nil {
			return err
		}
		var has []string
		consumers := stream.ListConsumers(ctx)
		for info := range consumers.Info() {
			if info.NumWaiting > 0 && info.Cluster != nil { // a client waits for its messages
				has = append(has, info.Cluster.Leader)
			}
		}
		if err := consumers.Err(); err != nil || len(has) != 1 {
			return errors.Errorf("the consumers are on %v: %v", has, err)
		}
		if found, err = c.leads(ctx, nil); err != nil || found.Name == has[0] {
			return err
		}
		ask := fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, has[0])
		if _, err := c.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN.KV_foos", ask); err != nil {
			return err
		}

		return errors.Errorf("%s leads, and the consumer is on %s", found.Name, has[0])
	})

	return found
}

// beside returns the cluster with a client that is connected to a node that stays.
func (c *cluster) beside(t *testing.T, gone *natsproc.Node) *cluster {
	t.Helper()
	stays := c.nodes[0]
	if stays == gone {
		stays = c.nodes[1]
	}
	js, err := jetstream.New(dial(t, stays))
	must(t, err)

	return &cluster{nodes: c.nodes, js: js}
}

// elected returns the time when the stream had another leader than the old one.
func (c *cluster) elected(t *testing.T, old *natsproc.Node) time.Time {
	t.Helper()

	return since(t, "another leader", func(ctx context.Context) error {
		_, err := c.leads(ctx, old)

		return err
	})
}

// answers returns the time when the server responded for the stream again after an outage.
func (c *cluster) answers(t *testing.T) time.Time {
	t.Helper()

	return since(t, "an answer", func(ctx context.Context) error {
		_, err := c.js.Stream(ctx, "KV_foos")

		return err
	})
}

// since returns the time when a condition became true. It checks the condition five times a second without waiting for
// the previous checks: a request that is sent while there is no leader gets no response for long.
func since(t *testing.T, what string, is func(context.Context) error) time.Time {
	t.Helper()
	ctx, cancel := context.WithCancel(wait.Context(t))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	found := make(chan time.Time, 1)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		asking.Go(func() {
			if is(ctx) == nil {
				select {
				case found <- time.Now():
				default:
				}
			}
		})
		select {
		case at := <-found:
			return at
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("there was not %s", what)
		}
	}
}

// resumed changes an object and waits until the informer has the change.
func (c *cluster) resumed(t *testing.T, i *store.Informer[*foo.Foo], replicas int) {
	t.Helper()
	var written *foo.Foo
	within(t, "a write", func(ctx context.Context) (err error) {
		f, err := c.foos.Get(ctx, key(0))
		if err != nil {
			return err
		}
		f.Spec.Replicas = int32(replicas)
		written, err = c.foos.Update(ctx, f)

		return err
	})
	must(t, i.WaitForRevision(wait.Context(t), written.Metadata.Revision))
}

// resumes returns the bound for the time until a watch resumes. Without -bounds, which is for an idle machine, it is
// the general patience.
func resumes() time.Duration {
	if *bounds {
		return 5 * time.Second
	}

	return wait.Patience()
}

// TestLeaderKilled: after the leader of the stream was killed, with the consumer of the watch, the watch resumes within
// five seconds of the election of another leader, as seen by a client that need not reconnect.
func TestLeaderKilled(t *testing.T) {
	c := newCluster(t, 3)
	within(t, "an object", func(ctx context.Context) error { return c.create(ctx, 0) })
	informer, l := c.start(t)
	l.has(t, map[string]bool{state(key(0), 1): true}, moment)
	var worst, down time.Duration
	for round := range *rounds {
		old := c.holder(t)
		client := c.beside(t, old)
		must(t, old.Kill())
		killed := time.Now()
		elected := client.elected(t, old)
		c.resumed(t, informer, round+10)
		worst, down = max(worst, time.Since(elected)), max(down, time.Since(killed))
		must(t, old.Start())
		within(t, "all replicas", func(ctx context.Context) error { return c.whole(ctx, "KV_foos") })
	}
	fmt.Printf("watch-resumed-after-leader: %s\n", worst.Round(time.Millisecond))
	fmt.Printf("watch-resumed-after-kill: %s\n", down.Round(time.Millisecond))
	if worst > resumes() {
		t.Errorf("it took %s", worst)
	}
}

// TestServerRestarted: after a single server was killed, the watch resumes within five seconds of the server's first
// response, both after a short outage and after one that is longer than the timeout of the watch.
func TestServerRestarted(t *testing.T) {
	c := newCluster(t, 1)
	within(t, "an object", func(ctx context.Context) error { return c.create(ctx, 0) })
	informer, l := c.start(t)
	l.has(t, map[string]bool{state(key(0), 1): true}, moment)
	var worst time.Duration
	for round := range *rounds {
		must(t, c.nodes[0].Kill())
		<-time.After(time.Duration(round) * 20 * time.Second) // the outage
		must(t, c.nodes[0].Start())
		answered := c.answers(t)
		c.resumed(t, informer, round+10)
		worst = max(worst, time.Since(answered))
	}
	fmt.Printf("watch-resumed-after-restart: %s\n", worst.Round(time.Millisecond))
	if worst > resumes() {
		t.Errorf("it took %s", worst)
	}
	if held := informer.Held(); len(held) != 0 {
		t.Errorf("%v is held after restarts that lost nothing", held)
	}
}
