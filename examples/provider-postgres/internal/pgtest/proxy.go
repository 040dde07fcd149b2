package pgtest

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/moorage-dev/moorage/pkg/conformance"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
)

// NewProxy returns a proxy for a server, with the faults of a network. It ends with the test.
func NewProxy(t testing.TB, s *pgserver.Server) *conformance.Proxy {
	t.Helper()

	return conformance.FaultProxy(t, loopback(s.Port))
}

// ProxyPort returns the port of a proxy on the loopback address.
func ProxyPort(p *conformance.Proxy) uint16 { return portOf(p.Address()) }

func loopback(port uint16) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))) }

func portOf(address string) uint16 {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.ParseUint(port, 10, 16) // it is the address of a listener

	return uint16(n)
}

// Rewrite starts a proxy for a server that changes what the server sends, and returns its port. It ends with the test.
func Rewrite(t testing.TB, s *pgserver.Server, change func(sent []byte) []byte) uint16 {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go rewrite(t.Context(), client, loopback(s.Port), change)
		}
	}()

	return portOf(l.Addr().String())
}

// rewrite serves one connection until one of both sides closes it.
func rewrite(ctx context.Context, client net.Conn, address string, change func(sent []byte) []byte) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go copyData(server, client, func(sent []byte) []byte { return sent })
	copyData(client, server, change)
}

// copyData copies data, changed, until one of both connections ends, and then ends both.
func copyData(to, from net.Conn, change func(sent []byte) []byte) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if _, err := to.Write(change(buffer[:n])); err != nil {
			return
		}
	}
}
