package files_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/examples/edge/internal/files"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
)

// TestConformance: the client of files is one that the reconciler can rely on.
func TestConformance(t *testing.T) { conformance.Run(t, suite(t)) }

// TestConformanceInNATS: so it is when the objects are in NATS, whatever goes wrong.
func TestConformanceInNATS(t *testing.T) {
	s, h := suite(t), newHarbour(t)
	s.Server = h.empty
	conformance.Run(t, s)
	if h.made < 10 || h.calls < 10*h.made {
		t.Errorf("%d calls came to %d buckets: the objects are somewhere else", h.calls, h.made)
	}
}

// suite is what there is to say of files.
func suite(t *testing.T) conformance.Suite {
	t.Helper()
	p := probe(t.TempDir())
	dir, err := files.Open(string(p), "device")
	if err != nil {
		t.Fatal(err)
	}
	sample := func(name string) *v1.File {
		return &v1.File{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.FileSpec{Content: "hello\n"}}
	}

	return conformance.Suite{
		Kind: v1.FileKind, Scheme: v1.Scheme(), Class: conformance.Named, Probe: p, Within: 10 * time.Second, CallTimeout: time.Minute,
		Connecter: managed.Untyped(managed.TypedExternalConnectorFn[*v1.File](dir.Connect)),
		Options:   []managed.ReconcilerOption{managed.WithDeterministicExternalName(true)},
		Samples:   []resource.Managed{sample("motd"), sample("motd-2")},
		Mutations: []conformance.Mutation{{
			Name: "rewrite", Change: func(mg resource.Managed) { mg.(*v1.File).Spec.Content = "good evening\n" },
			Want: map[string]string{"content": "good evening\n"},
		}},
	}
}

// A probe looks at the files of a directory.
type probe string

// List returns the files and what is in them.
func (p probe) List(context.Context) (found []conformance.Resource, err error) {
	entries, err := os.ReadDir(string(p))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		content, readErr := os.ReadFile(filepath.Join(string(p), e.Name()))
		if readErr != nil {
			return nil, readErr
		}
		found = append(found, conformance.Resource{ID: e.Name(), State: map[string]string{"content": string(content)}})
	}

	return found, err
}

// Remove removes a file and whose it was.
func (p probe) Remove(_ context.Context, id string) error {
	for _, path := range []string{id, filepath.Join(".owners", id)} {
		if err := os.Remove(filepath.Join(string(p), path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}

	return nil
}

// Make makes a file that is nobody's.
func (p probe) Make(_ context.Context, mg resource.Managed) (string, error) {
	name := meta.GetExternalName(mg)

	return name, os.WriteFile(filepath.Join(string(p), name), []byte(mg.(*v1.File).Spec.Content), 0o644)
}

// Drift writes something else into a file.
func (p probe) Drift(_ context.Context, id string) error {
	return os.WriteFile(filepath.Join(string(p), id), []byte("vandals were here\n"), 0o644)
}

// A harbour makes clients of empty buckets. They live in the bubbles of simulations, and
// NATS does not: their calls are made outside.
type harbour struct {
	js   jetstream.JetStream
	now  time.Time // in the bubble
	jobs chan func() error
	done chan error

	made, calls int
}

func newHarbour(t *testing.T) *harbour {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	h := &harbour{jobs: make(chan func() error), done: make(chan error)}
	if h.js, err = jetstream.New(nc); err != nil {
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

// outside does something outside of the bubble. The time is that inside.
func (h *harbour) outside(do func() error) error {
	h.now = time.Now()
	h.calls++
	h.jobs <- do

	return <-h.done
}

// empty returns a client of a new bucket, in the place of the last one.
func (h *harbour) empty() client.Client {
	var made *kube.Client
	err := h.outside(func() (err error) {
		ctx, last := context.Background(), fmt.Sprint("files-", h.made)
		if err := h.js.DeleteKeyValue(ctx, last); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
			return err
		}
		h.made++
		s, err := natskv.New[*kube.Envelope[*v1.File]](ctx, h.js, fmt.Sprint("files-", h.made), natskv.Options{
			Create: &jetstream.KeyValueConfig{Storage: jetstream.MemoryStorage}, Timeout: time.Minute,
			Rules: store.Rules{Now: func() time.Time { return h.now }},
		})
		if err != nil {
			return err
		}
		made, err = kube.NewClient(v1.Scheme(), []kube.Kind{kube.Serve(s)})

		return err
	})
	if err != nil {
		panic(err) // there is no test to fail in here: the kit tells it
	}

	return h.around(made)
}

// around makes the calls of a client outside. The contexts of the bubble stay there.
func (h *harbour) around(c client.WithWatch) client.Client {
	ctx := context.Background()

	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(_ context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return h.outside(func() error { return c.Get(ctx, key, o, opts...) })
		},
		Create: func(_ context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return h.outside(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(_ context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return h.outside(func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(_ context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return h.outside(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(_ context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return h.outside(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(_ context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return h.outside(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(_ context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return h.outside(func() error { return c.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
	})
}
