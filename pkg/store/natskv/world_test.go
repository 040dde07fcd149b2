package natskv

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A host is a server in this process with its data in a directory, and a client.
type host struct {
	t    testing.TB
	dir  string
	port int
	srv  *server.Server
	nc   *nats.Conn
	js   jetstream.JetStream
}

func newHost(t testing.TB) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), port: port.Free(t)}
	h.start()
	t.Cleanup(func() { h.stop() })
	h.nc = h.connect()
	var err error
	if h.js, err = jetstream.New(h.nc, jetstream.WithDefaultTimeout(30*time.Second)); err != nil {
		t.Fatal(err)
	}

	return h
}

func (h *host) start() {
	h.t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: h.port, JetStream: true, StoreDir: filepath.Join(h.dir, "js"), NoLog: true,
		NoSigs: true,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(wait.Budget(h.t)) {
		h.t.Fatal("the server does not listen")
	}
	h.srv = srv
}

func (h *host) stop() {
	h.srv.Shutdown()
	h.srv.WaitForShutdown()
}

func (h *host) connect() *nats.Conn {
	h.t.Helper()
	nc, err := nats.Connect(h.srv.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.Timeout(wait.Patience()))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(nc.Close)

	return nc
}

// bucket creates a bucket and a store in it. By default, no watch ends because a busy
// machine does not answer for some seconds.
func (h *host) bucket(cfg jetstream.KeyValueConfig, o Options) *Store[*storetest.Thing] {
	h.t.Helper()
	o.Create = &cfg
	if o.Heartbeat == 0 {
		o.Heartbeat = 15 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	s, err := New[*storetest.Thing](h.t.Context(), h.js, cfg.Bucket, o)
	if err != nil {
		h.t.Fatal(err)
	}

	return s
}

// recreate deletes a bucket and creates it again.
func (h *host) recreate(ctx context.Context, cfg jetstream.KeyValueConfig) error {
	if err := h.js.DeleteKeyValue(ctx, cfg.Bucket); err != nil {
		return err
	}

	return bucket{js: h.js, name: cfg.Bucket}.create(ctx, cfg)
}

// restart stops the server, leaves it down for a moment, and starts it again.
func (h *host) restart(data func(dir string) error) error {
	h.stop()
	if data != nil {
		if err := data(filepath.Join(h.dir, "js")); err != nil {
			return err
		}
	}
	h.start()

	return nil
}

// consumers counts the consumers on the server.
func (h *host) consumers(ctx context.Context, bucket string) int {
	h.t.Helper()
	for tries := 0; ; tries++ { // the connection may have been broken a moment ago
		stream, err := h.js.Stream(ctx, "KV_"+bucket)
		if err == nil {
			return stream.CachedInfo().State.Consumers
		}
		if tries == 10 {
			h.t.Fatal(err)
		}
	}
}

// copyTree copies the data of a server that is down.
func copyTree(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }
