package pgtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// A Proxy is the network between the provider and a server. It is a conformance.Breaker and a conformance.Silencer.
// Use NewProxy.
type Proxy struct {
	// Port on the loopback address.
	Port uint16

	// Rewrite, if it is not nil, changes what the server sends. Set it before the first connection.
	Rewrite func(sent []byte) []byte

	server string

	mu             sync.Mutex
	open           map[net.Conn]bool
	broken, silent bool
}

// NewProxy returns a proxy for the server at a port, which ends with the test.
func NewProxy(t *testing.T, port uint16) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := l.Addr().(*net.TCPAddr)
	p := &Proxy{Port: uint16(address.Port), server: fmt.Sprintf("127.0.0.1:%d", port), open: map[net.Conn]bool{}}
	go p.serve(l)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
	})

	return p
}

// Break cuts all connections, and refuses new ones.
func (p *Proxy) Break(context.Context) (func(context.Context) error, error) {
	p.set(&p.broken, true)
	p.cut()

	return func(context.Context) error {
		p.set(&p.broken, false)

		return nil
	}, nil
}

// Silence lets requests through, and cuts each connection instead of sending an answer.
func (p *Proxy) Silence(context.Context) (func(context.Context) error, error) {
	p.set(&p.silent, true)

	return func(context.Context) error {
		p.set(&p.silent, false)

		return nil
	}, nil
}

func (p *Proxy) set(what *bool, to bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*what = to
}

func (p *Proxy) is(what *bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return *what
}

// cut closes all connections.
func (p *Proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
	clear(p.open)
}

func (p *Proxy) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil || p.is(&p.broken) {
			_ = client.Close()

			continue
		}
		p.mu.Lock()
		p.open[client], p.open[server] = true, true
		p.mu.Unlock()
		go p.carry(server, client, false)
		go p.carry(client, server, true)
	}
}

// carry copies what is read from one connection to the other, until one of both ends.
func (p *Proxy) carry(to io.WriteCloser, from io.ReadCloser, answers bool) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil || answers && p.is(&p.silent) {
			return
		}
		text := buffer[:n]
		if answers && p.Rewrite != nil {
			text = p.Rewrite(text)
		}
		if _, err := to.Write(text); err != nil {
			return
		}
	}
}
