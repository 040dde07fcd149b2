// Package natstest starts NATS servers inside a test. Start with [Start].
package natstest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// Start starts a server with JetStream on a free loopback port and a store that is removed with the test.
// Each of change may edit its options first.
func Start(t testing.TB, change ...func(*server.Options)) *server.Server {
	t.Helper()

	// The time for a client to log in. By default a server hangs up after two seconds, which a busy machine
	// may exceed.
	handshake := wait.Patience().Seconds()

	opts := &server.Options{
		Host:      "127.0.0.1",
		Port:      server.RANDOM_PORT,
		JetStream: true,
		StoreDir:  t.TempDir(),
		NoLog:     true,
		NoSigs:    true,

		AuthTimeout: handshake,
		TLSTimeout:  handshake,
	}
	for _, fn := range change {
		fn(opts)
	}

	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatalf("cannot configure NATS: %v", err)
	}

	keep(t, opts.StoreDir)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })

	if !s.ReadyForConnections(wait.Budget(t)) {
		t.Fatal("NATS does not become ready")
	}

	return s
}

// keep puts a file beside the streams of the default account. With the last stream a server removes the
// folder of its account, even while the next stream is being created in it, which then fails (nats-server
// 2.15.2, stream.stop); not if it contains anything.
func keep(t testing.TB, store string) {
	t.Helper()

	dir := filepath.Join(store, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "keep"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Connect connects to a server until the test ends, however long the server is away
// meanwhile.
func Connect(t testing.TB, s *server.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()

	nc, err := nats.Connect(s.ClientURL(),
		append([]nats.Option{nats.Timeout(wait.Patience()), nats.MaxReconnects(-1)}, opts...)...)
	if err != nil {
		t.Fatalf("cannot connect to NATS: %v", err)
	}

	t.Cleanup(nc.Close)

	return nc
}

// JetStream returns the JetStream of a server, over a connection that lasts
// until the test ends.
func JetStream(t testing.TB, s *server.Server) jetstream.JetStream {
	t.Helper()

	js, err := jetstream.New(Connect(t, s), jetstream.WithDefaultTimeout(wait.Patience()))
	if err != nil {
		t.Fatalf("cannot use JetStream: %v", err)
	}

	return js
}
