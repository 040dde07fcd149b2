package systemtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/natsproc"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
)

// TestCacheForgetsWhatExpires: an object that expires in a bucket without delete markers is removed from the cache, and
// the informer reports its deletion.
func TestCacheForgetsWhatExpires(t *testing.T) {
	t.Parallel() // it waits, most of the time
	nodes, err := natsproc.Cluster(t.TempDir(), 1)
	must(t, err)
	must(t, nodes[0].Start())
	t.Cleanup(func() { _ = nodes[0].Kill() })
	js, err := jetstream.New(dial(t, nodes[0]))
	must(t, err)
	var s *natskv.Store[*kube.Envelope[*volume.Volume]]
	within(t, "a bucket", func(ctx context.Context) (err error) {
		s, err = natskv.New[*kube.Envelope[*volume.Volume]](ctx, js, "volumes",
			natskv.Options{Create: &jetstream.KeyValueConfig{TTL: 5 * time.Second}})

		return err
	})
	scheme, err := stories.Scheme()
	must(t, err)
	c, err := kube.NewCluster(scheme, kube.Options{Resync: time.Second}, kube.Serve(s))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	var added, deleted atomic.Int64
	informer, err := c.GetCache().GetInformer(t.Context(), &volume.Volume{})
	must(t, err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) }, DeleteFunc: func(any) { deleted.Add(1) },
	})
	must(t, err)
	// on a busy machine it may expire before it is seen
	within(t, "an object in the cache", func(ctx context.Context) error {
		if err := client.IgnoreAlreadyExists(c.GetAPIReader().(client.Client).Create(ctx,
			stories.NewVolume("default", "v"))); err != nil {
			return err
		}
		if added.Load() == 0 {
			return errors.New("it is not told of")
		}

		return nil
	})
	within(t, "nothing in the cache", func(ctx context.Context) error {
		list := &volume.List{}
		if err := c.GetClient().List(ctx, list); err != nil {
			return err
		}
		if n := len(list.Items); n > 0 || deleted.Load() != added.Load() {
			return errors.Errorf("%d are there; %d were added and %d deleted", n, added.Load(), deleted.Load())
		}

		return nil
	})
}
