package systemtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/foo"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// TestGarbageOfALostBucket: the secondaries stay when the bucket of their primaries was deleted and created again, both
// for the running controller and for the next one. The secondary of a primary that is deleted after that is collected.
func TestGarbageOfALostBucket(t *testing.T) {
	t.Parallel() // it waits, most of the time
	c := newCluster(t, 1)
	parts := c.parts(t)
	primaries, stop := c.keepParts(t, parts)
	for _, key := range []string{"ns/a", "ns/b", "ns/gone"} {
		c.make(t, &foo.Foo{Metadata: store.Metadata{Key: key}})
	}
	have := func(what string, want ...string) {
		t.Helper()
		within(t, what, func(ctx context.Context) error {
			var got []string
			for part, err := range parts.List(ctx) {
				if err != nil {
					return err
				}
				got = append(got, part.Metadata.Key)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				return errors.Errorf("there are %v, want %v", got, want)
			}

			return nil
		})
	}
	have("a part for each", "ns/a", "ns/b", "ns/gone")
	c.drop(t, "ns/gone")
	have("no garbage", "ns/a", "ns/b")

	within(t, "another bucket of that name", func(ctx context.Context) error {
		if err := c.js.DeleteKeyValue(ctx, "foos"); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
			return err
		}
		_, err := natskv.New[*foo.Foo](ctx, c.js, "foos", natskv.Options{Kind: foo.Kind, Create: &jetstream.KeyValueConfig{}})

		return err
	})
	later := func() {
		t.Helper()
		c.make(t, &foo.Foo{Metadata: store.Metadata{Key: "ns/later"}})
		have("a part for the next", "ns/a", "ns/b", "ns/later")
		c.drop(t, "ns/later")
		have("its part collected, and no other", "ns/a", "ns/b") // the collector has checked the others as well
	}
	later()
	if held := slices.Sorted(slices.Values(primaries.Held())); !slices.Equal(held, []string{"ns/a", "ns/b"}) {
		t.Errorf("%v is held", held)
	}
	stop()
	c.keepParts(t, parts)
	later()
}

func (c *cluster) parts(t *testing.T) (s *natskv.Store[*storetest.Thing]) {
	t.Helper()
	within(t, "a bucket of parts", func(ctx context.Context) (err error) {
		s, err = natskv.New[*storetest.Thing](ctx, c.js, "parts", natskv.Options{Create: &jetstream.KeyValueConfig{}})

		return err
	})

	return s
}

// keepParts runs a controller that creates a part for each Foo, and leaves orphaned parts to the garbage collector.
func (c *cluster) keepParts(
	t *testing.T, parts *natskv.Store[*storetest.Thing],
) (primaries *store.Informer[*foo.Foo], stop func()) {
	t.Helper()
	primaries = store.NewInformer[*foo.Foo](c.foos, store.InformerOptions{})
	secondaries := store.NewInformer[*storetest.Thing](parts, store.InformerOptions{})
	var ctl *storecontroller.Controller[*foo.Foo]
	pass := func(ctx context.Context, key string, f *foo.Foo, found bool) (reconcile.Result, error) {
		if !found {
			return reconcile.Result{}, nil
		}
		part := storetest.NewThing(key, 1)
		part.Metadata.Owners = []store.Owner{ctl.Owner(f)}
		_, err := parts.Create(ctx, part)
		if errors.Is(err, store.ErrAlreadyExists) {
			err = nil
		}

		return reconcile.Result{}, err
	}
	ctl, err := storecontroller.New(nil, "parts", foo.Kind, primaries, storecontroller.ReconcilerFunc[*foo.Foo](pass),
		storecontroller.Options{
			Resync: time.Second, TypedOptions: controller.TypedOptions[storecontroller.Request]{SkipNameValidation: new(true)},
		}, storecontroller.Owns(secondaries))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = primaries.Start(ctx) })
	running.Go(func() { _ = secondaries.Start(ctx) })
	running.Go(func() { _ = ctl.Start(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)

	return primaries, stop
}
