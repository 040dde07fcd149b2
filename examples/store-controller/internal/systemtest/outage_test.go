package systemtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/natsproc"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

const (
	volumes = 30
	// away is the duration of an outage: longer than the timeout of a request.
	away = 12 * time.Second
)

// TestManagedReconcilerOutage kills the server that has the objects of a provider: while they are created, changed, and
// deleted. Each time the provider recovers by itself when the server is back: there is exactly one disk for each
// object, as the object specifies, and none is left behind.
func TestManagedReconcilerOutage(t *testing.T) {
	t.Parallel() // it waits, most of the time
	p, m, node := inServer(t, 0)
	cloud := &volume.Cloud{Tokens: true} // creating again with the same token makes no second disk
	must(t, managed.Setup(m, volume.Kind, controller.Options{MaxConcurrentReconciles: 4},
		managed.WithExternalConnecter(cloud), managed.WithCreationTokens(), managed.WithPollInterval(time.Second)))
	stories.Operate(t, m)

	under(t, node, func(ctx context.Context, n int) error {
		return client.IgnoreAlreadyExists(p.API.Create(ctx, stories.NewVolume(p.Namespace, volumeName(n))))
	})
	within(t, "one disk for each object", func(ctx context.Context) error { return right(ctx, p, cloud, 1) })

	under(t, node, func(ctx context.Context, n int) error {
		return p.API.Patch(ctx, stories.NewVolume(p.Namespace, volumeName(n)),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"sizeGiB":2}}`)))
	})
	within(t, "every change made", func(ctx context.Context) error { return right(ctx, p, cloud, 2) })

	under(t, node, func(ctx context.Context, n int) error {
		return client.IgnoreNotFound(p.API.Delete(ctx, stories.NewVolume(p.Namespace, volumeName(n))))
	})
	within(t, "nothing left", func(ctx context.Context) error {
		list := &volume.List{}
		if err := p.API.List(ctx, list); err != nil {
			return err
		}
		if n := len(list.Items) + len(cloud.Disks()); n > 0 {
			return errors.Errorf("%d objects and disks are left", n)
		}

		return nil
	})
}

func volumeName(n int) string { return fmt.Sprintf("v%02d", n) }

// under calls a function for each object, and kills the server when that is done for a third of them.
func under(t *testing.T, node *natsproc.Node, do func(ctx context.Context, n int) error) {
	t.Helper()
	var finished atomic.Int64
	third, all := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(all)
		many(t, volumes, func(ctx context.Context, n int) error {
			err := do(ctx, n)
			if err == nil && finished.Add(1) == volumes/3 {
				close(third)
			}

			return err
		})
	}()
	defer func() { <-all }()
	select {
	case <-third:
	case <-all: // the kill came too late
		return
	}
	must(t, node.Kill())
	<-time.After(away) // the outage
	must(t, node.Start())
}

// right returns an error unless each object is Ready with that size, and has exactly one disk.
func right(ctx context.Context, p *stories.Provider, cloud *volume.Cloud, size int64) error {
	list := &volume.List{}
	if err := p.API.List(ctx, list); err != nil {
		return err
	}
	ids := map[string]bool{}
	for i := range list.Items {
		v := &list.Items[i]
		if c := v.GetCondition("Ready"); c.Status != "True" || c.ObservedGeneration != v.Generation ||
			v.Status.SizeGiB != size {
			return errors.Errorf("%s is %+v", v.Name, v.Status)
		}
		ids[v.Status.ID] = true
	}
	disks := cloud.Disks()
	for _, d := range disks {
		if d.SizeGiB != size || !ids[d.ID] {
			return errors.Errorf("there is the disk %+v", d)
		}
	}
	if len(list.Items) != volumes || len(disks) != volumes {
		return errors.Errorf("there are %d objects and %d disks", len(list.Items), len(disks))
	}

	return nil
}
