package conformance

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Proxy is a TCP proxy between the client under test and a real server, which injects faults on the wire. Make one
// with FaultProxy. A Probe that embeds a *Proxy is a Breaker, a Silencer and an Interrupter. The Probe itself should
// connect to the server directly. The methods may be called concurrently. One fault is in effect at a time.
//
// The proxy does not interpret the protocol. An exchange begins with the first data of the client after data of the
// server, or with the first data on a connection. It is answered when the server sends data. Several requests that a
// client sends without waiting for an answer are one exchange. The handshakes of a connection, such as those of TLS,
// count as exchanges, too.
//
// Data that the server never answers, such as a one-way message or the reply to a ping, is no exchange of its own: it
// belongs to the next exchange of its connection, unless an interruption begins in between. The proxy cannot see which
// data expects an answer. So after a call the suite waits up to Suite.Patience for outstanding answers. Once the server
// has left data unanswered for that long, the suite waits only several times as long as the slowest answer so far took.
// With such a server, a change by a request that outlives its call may be attributed to the next call. When the proxy
// resets the connection of a client, the server keeps its end until it has answered what it has received.
type Proxy struct {
	listener net.Listener
	network  string
	server   string
	group    sync.WaitGroup

	mu        sync.Mutex
	links     map[*link]bool
	draining  map[*link]bool // links without a client, whose server may still answer
	state     wireState
	delay     time.Duration
	exchanges int // that were answered
	armed     Interruption
	arming    int           // number of the current interruption
	since     int           // exchanges that began and were answered since the interruption was armed
	slowest   time.Duration // answer so far
	oneWay    bool          // the server has left data unanswered
	closed    bool
}

// A wireState is what the proxy does with data.
type wireState int

const (
	passing wireState = iota
	silent            // requests pass, and answers do not
	hanging           // nothing passes
	reset             // connections are reset
)

// A link is a connection of a client, and its connection to the server.
type link struct {
	client, server net.Conn
	asking         bool      // the client has sent data, and the server none after it
	forwarded      bool      // the server has got data that it has not answered
	asked          time.Time // when the client last sent data
	arming         int       // the interruption that was armed when it began to ask
}

// FaultProxy starts a Proxy in front of the server at the address, and stops it when the test ends. The address is
// host:port, or the path of a Unix socket. The server must be running: otherwise FaultProxy fails the test.
func FaultProxy(t testing.TB, address string) *Proxy {
	t.Helper()
	p := &Proxy{network: "tcp", server: address, links: map[*link]bool{}, draining: map[*link]bool{}}
	if strings.HasPrefix(address, "/") {
		p.network = "unix"
	}
	server, err := (&net.Dialer{}).DialContext(t.Context(), p.network, address)
	if err != nil {
		t.Fatalf("conformance.FaultProxy: cannot connect to the server at %q: start it before the proxy, and give its "+
			"address as host:port or as the path of a Unix socket: %v", address, err)
	}
	_ = server.Close()
	p.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("conformance.FaultProxy: cannot listen: %v", err)
	}
	p.group.Go(p.accept)
	t.Cleanup(p.close)

	return p
}

// Address returns the host:port to which the client under test connects.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Break resets all connections, and closes every new one, until mend is called.
func (p *Proxy) Break(context.Context) (mend func(context.Context) error, err error) {
	return p.begin(reset), nil
}

// Silence passes requests to the server, and drops the answers, until end is called. Connections stay open until then,
// and end resets them.
func (p *Proxy) Silence(context.Context) (end func(context.Context) error, err error) {
	return p.begin(silent), nil
}

// Delay delays each answer of the server by d, until end is called.
func (p *Proxy) Delay(d time.Duration) (end func()) {
	set := func(d time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.delay = d
	}
	set(d)

	return func() { set(0) }
}

// Exchanges returns the number of exchanges that the server has answered since the proxy started.
func (p *Proxy) Exchanges() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.exchanges
}

// Bounds of the time in which a server that leaves data unanswered is expected to answer.
const (
	shortestAnswer = 50 * time.Millisecond
	longestAnswer  = time.Second // data that the server sends on its own, as in a ping, looks like a late answer
	timesSlowest   = 8
)

// pending reports whether the server may still answer a request.
func (p *Proxy) pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, links := range []map[*link]bool{p.links, p.draining} {
		for l := range links {
			if l.asking && (!p.oneWay || time.Since(l.asked) < p.answerTime()) {
				return true
			}
		}
	}

	return false
}

// answerTime returns the time after which no answer is expected from a server that leaves data unanswered. The caller
// holds the lock.
func (p *Proxy) answerTime() time.Duration {
	return min(max(shortestAnswer, timesSlowest*p.slowest), longestAnswer)
}

// noteUnanswered notes that the server leaves data unanswered.
func (p *Proxy) noteUnanswered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oneWay = true
}

// Interrupt interrupts the exchanges that follow, as the Interruption says, until end is called. In an interrupted
// exchange the proxy passes no more data.
func (p *Proxy) Interrupt(_ context.Context, i Interruption) (end func(context.Context) error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.since = i, 0
	p.arming++

	return p.end, nil
}

// begin sets the state, and returns the function that ends it.
func (p *Proxy) begin(s wireState) func(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter(s)

	return p.end
}

// enter sets the state. The caller holds the lock.
func (p *Proxy) enter(s wireState) {
	p.state, p.armed = s, Interruption{}
	if s == reset {
		p.resetAll()
	}
}

// end lets data pass again. Connections on which data was lost are reset.
func (p *Proxy) end(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != passing {
		p.resetAll()
	}
	p.state, p.armed = passing, Interruption{}

	return nil
}

// resetAll resets all connections of clients. The server keeps its end of a connection until it has answered what it
// has received: then it is known when a request that has outlived its call has ended. The caller holds the lock.
func (p *Proxy) resetAll() {
	for l := range p.links {
		if l.reset(); l.asking && l.forwarded {
			p.draining[l] = true
		} else {
			l.closeServer()
		}
	}
	clear(p.links)
}

// close stops the proxy.
func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.resetAll()
	for l := range p.draining {
		l.closeServer()
	}
	p.mu.Unlock()
	p.group.Wait()
}

// accept accepts connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.group.Go(func() { p.serve(client) })
	}
}

// serve connects a client to the server, and passes data until one of them closes its connection.
func (p *Proxy) serve(client net.Conn) {
	l := &link{client: client}
	passes := p.join(l)
	defer p.leave(l)
	if !passes {
		refuse(client)

		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), p.network, p.server)
	if err != nil || !p.connect(l, server) {
		return
	}
	p.group.Go(func() { pass(l.server, l.client, func() bool { return p.request(l) }) })
	pass(l.client, l.server, func() bool { return p.answer(l) })
}

// refuse ends a new connection. The client reads an end of file, also if it has sent data: the text of its error is
// then always the same.
func refuse(client net.Conn) {
	if half, ok := client.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, client)
	}
}

// join adds a link. It returns false if new connections are refused.
func (p *Proxy) join(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = l.client.Close()

		return false
	}
	p.links[l] = true

	return p.state != reset
}

// connect adds the connection to the server to a link. It returns false if the link was reset meanwhile.
func (p *Proxy) connect(l *link, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.server = server

	return p.links[l]
}

// leave closes the connections of a link.
func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = l.client.Close()
	l.closeServer()
	delete(p.links, l)
	delete(p.draining, l)
}

// request decides whether data of the client passes to the server.
func (p *Proxy) request(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !l.asking || l.arming != p.arming { // data of an earlier call that is still unanswered is not of this exchange
		l.arming = p.arming
		if p.armed.Answered && p.since >= p.armed.Exchange {
			p.interrupt()
		}
	}
	l.asking, l.asked = true, time.Now()
	passes := p.state == passing || p.state == silent
	l.forwarded = l.forwarded || passes

	return passes
}

// answer decides whether data of the server passes to the client.
func (p *Proxy) answer(l *link) bool {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.asking {
		l.asking, l.forwarded, p.slowest = false, false, max(p.slowest, time.Since(l.asked))
		p.exchanges++
		if l.arming == p.arming && !p.draining[l] { // the answer to an earlier request belongs to an earlier call
			p.since++
			if p.armed.Exchange > 0 && !p.armed.Answered && p.since >= p.armed.Exchange {
				p.interrupt()
			}
		}
	}

	return p.state == passing && !p.draining[l]
}

// interrupt starts the effect of the armed interruption. The caller holds the lock.
func (p *Proxy) interrupt() {
	if p.armed.Hang {
		p.enter(hanging)
	} else {
		p.enter(reset)
	}
}

// pass copies data for which passes returns true, until a connection ends.
func pass(to, from net.Conn, passes func() bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && passes() {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// reset resets the connection to the client.
func (l *link) reset() {
	if c, ok := l.client.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = l.client.Close()
}

// closeServer closes the connection to the server.
func (l *link) closeServer() {
	if l.server != nil {
		_ = l.server.Close()
	}
}
