// Package natstest starts NATS servers inside a test. Start with [Start].
package natstest

import (
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Start starts a server with JetStream on a free loopback port and a store that
// ends with the test. Each of change may edit its options first.
func Start(t testing.TB, change ...func(*server.Options)) *server.Server {
	t.Helper()

	opts := &server.Options{
		Host:      "127.0.0.1",
		Port:      server.RANDOM_PORT,
		JetStream: true,
		StoreDir:  t.TempDir(),
		NoLog:     true,
		NoSigs:    true,
	}
	for _, fn := range change {
		fn(opts)
	}

	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatalf("cannot configure NATS: %v", err)
	}

	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })

	if !s.ReadyForConnections(2 * time.Minute) {
		t.Fatal("NATS does not become ready")
	}

	return s
}

// Connect connects to a server until the test ends.
func Connect(t testing.TB, s *server.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()

	nc, err := nats.Connect(s.ClientURL(), append([]nats.Option{nats.Timeout(time.Minute)}, opts...)...)
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

	js, err := jetstream.New(Connect(t, s), jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatalf("cannot use JetStream: %v", err)
	}

	return js
}

// Port returns the port a server listens on.
func Port(t testing.TB, s *server.Server) int {
	t.Helper()

	addr, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("NATS listens on %v", s.Addr())
	}

	return addr.Port
}
