package files_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A natsServer returns clients of empty buckets, one for each kind. The clients are used in the synctest bubbles of
// simulations, and NATS runs outside: a goroutine outside makes their calls.
type natsServer struct {
	scheme *runtime.Scheme
	js     jetstream.JetStream
	stores []*kindStore
	now    time.Time // in the bubble
	uids   int       // given to objects
	jobs   chan func() error
	done   chan error

	made, calls int
}

// A kindStore has the objects of a kind.
type kindStore struct {
	name  string
	made  int // buckets
	open  func(ctx context.Context, bucket string) error
	kind  kube.Kind
	state func(context.Context) (store.State, error) // nil before the first bucket
}

// newNATSServer starts a server, and the goroutine that makes calls to it.
func newNATSServer(t *testing.T, scheme *runtime.Scheme) *natsServer {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(wait.Patience()) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv), nats.Timeout(wait.Patience()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	h := &natsServer{scheme: scheme, jobs: make(chan func() error), done: make(chan error)}
	if h.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(wait.Patience())); err != nil {
		t.Fatal(err)
	}
	go func() {
		for job := range h.jobs {
			h.done <- job()
		}
	}()
	t.Cleanup(func() { close(h.jobs) })

	return h
}

// serve adds the store of a kind.
func serve[T client.Object](h *natsServer, name string, o ...kube.KindOption) {
	d := &kindStore{name: name}
	d.open = func(ctx context.Context, bucket string) error {
		s, err := natskv.New[*kube.Envelope[T]](ctx, h.js, bucket, natskv.Options{
			Create: &jetstream.KeyValueConfig{Storage: jetstream.MemoryStorage}, Timeout: wait.Patience(),
			Rules: store.Rules{Now: func() time.Time { return h.now }, NewUID: h.uid},
		})
		if err == nil {
			d.kind, d.state = kube.Serve(s, o...), s.State
		}

		return err
	}
	h.stores = append(h.stores, d)
}

// uid returns a UID that no object has had since the count was reset.
func (h *natsServer) uid() string {
	h.uids++

	return fmt.Sprintf("00000000-0000-4000-8000-%012d", h.uids)
}

// outside calls do outside of the bubble, with the time of the bubble.
func (h *natsServer) outside(do func() error) error {
	h.now = time.Now()
	h.calls++
	h.jobs <- do

	return <-h.done
}

// empty returns a client of empty buckets.
func (h *natsServer) empty() (client.Client, error) {
	var made *kube.Client
	err := h.outside(func() (err error) {
		var kinds []kube.Kind
		for _, d := range h.stores {
			if err := h.clear(d); err != nil {
				return err
			}
			kinds = append(kinds, d.kind)
		}
		made, err = kube.NewClient(h.scheme, kinds)

		return err
	})
	if err != nil {
		return nil, err
	}

	return h.around(made), nil
}

// clear replaces the bucket by a new one if it was written.
func (h *natsServer) clear(d *kindStore) error {
	ctx := context.Background()
	if d.state != nil {
		is, err := d.state(ctx)
		if err != nil || is.Revision == 0 {
			return err
		}
		if err := h.js.DeleteKeyValue(ctx, fmt.Sprint(d.name, "-", d.made)); err != nil {
			return err
		}
	}
	d.made++
	h.made++

	return d.open(ctx, fmt.Sprint(d.name, "-", d.made))
}

// writes returns the number of writes to the buckets.
func (h *natsServer) writes() (n uint64, err error) {
	err = h.outside(func() error {
		for _, d := range h.stores {
			is, err := d.state(context.Background())
			if err != nil {
				return errors.Wrap(err, d.name)
			}
			n += is.Revision
		}

		return nil
	})

	return n, err
}

// errInside is returned by requests that must not reach the server: the simulation serves lists and watches itself, and
// other calls would be made in the bubble.
var errInside = errors.New("only requests about single objects are made outside of the bubble")

// around returns a client whose calls are made outside of the bubble, without the contexts of the bubble.
func (h *natsServer) around(c client.WithWatch) client.Client {
	ctx := context.Background()

	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(
			_ context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption,
		) error {
			return h.outside(func() error { return c.Get(ctx, key, o, opts...) })
		},
		Create: func(_ context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return h.outside(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(_ context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return h.outside(func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(
			_ context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption,
		) error {
			return h.outside(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(_ context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return h.outside(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(
			_ context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption,
		) error {
			return h.outside(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(
			_ context.Context, c client.Client, sub string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			return h.outside(func() error { return c.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errInside
		},
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			return nil, errInside
		},
		DeleteAllOf: func(context.Context, client.WithWatch, client.Object, ...client.DeleteAllOfOption) error {
			return errInside
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return errInside
		},
		SubResourceGet: func(
			context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceGetOption,
		) error {
			return errInside
		},
		SubResourceCreate: func(
			context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption,
		) error {
			return errInside
		},
		SubResourceApply: func(
			context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption,
		) error {
			return errInside
		},
	})
}
