package systemtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	"github.com/moorage-dev/moorage/examples/store-controller/internal/natsproc"
)

// elected returns when the stream had another leader than the old one. It asks five
// times in a second and does not wait for answers in between: what was asked while
// nobody led is not answered for long.
func (c *cluster) elected(t *testing.T, old *natsproc.Node) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	found := make(chan time.Time, 1)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		asking.Go(func() {
			if _, err := c.leads(ctx, old); err == nil {
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
			t.Fatal("nobody was elected")
		}
	}
}

// TestLeaderKilled: after the leader of the stream was killed, the watch goes on
// within five seconds of there being another one.
func TestLeaderKilled(t *testing.T) {
	c := newCluster(t, 3)
	within(t, "an object", func(ctx context.Context) error { return c.create(ctx, 0) })
	informer, l := c.start(t)
	l.has(t, map[string]bool{state(key(0), 1): true})
	var worst, down time.Duration
	for round := range *rounds {
		old := c.leader(t, nil)
		must(t, old.Kill())
		killed := time.Now()
		elected := c.elected(t, old)
		var written *foo.Foo
		within(t, "a write", func(ctx context.Context) (err error) {
			f, err := c.foos.Get(ctx, key(0))
			if err != nil {
				return err
			}
			f.Spec.Replicas = int32(round) + 10
			written, err = c.foos.Update(ctx, f)

			return err
		})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := informer.WaitForRevision(ctx, written.Metadata.Revision)
		cancel()
		must(t, err)
		worst, down = max(worst, time.Since(elected)), max(down, time.Since(killed))
		must(t, old.Start())
		within(t, "all replicas", c.whole)
	}
	fmt.Printf("watch-resumed-after-leader: %s\n", worst.Round(time.Millisecond))
	fmt.Printf("watch-resumed-after-kill: %s\n", down.Round(time.Millisecond))
	if *bounds && worst > 5*time.Second {
		t.Errorf("it took %s", worst)
	}
}
