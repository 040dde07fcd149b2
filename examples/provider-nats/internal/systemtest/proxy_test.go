package systemtest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
)

// A proxy is the only connection to a server: it counts the traffic, and can be interrupted.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	moved *sync.Cond // state has changed
	state proxyMode
	conns map[net.Conn]struct{}

	dials, requests int // that it has passed on
}

// A proxyMode is how a proxy treats traffic.
type proxyMode int

const (
	open   proxyMode = iota
	silent           // connections stay, and nothing is passed on
	gone             // connections are closed and refused
)

// newProxy starts a proxy of the server at that address, until the test ends.
func newProxy(t *testing.T, to string) *proxy {
	t.Helper()

	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)

	s := &proxy{listener: l, to: to, conns: map[net.Conn]struct{}{}}
	s.moved = sync.NewCond(&s.mu)

	var all sync.WaitGroup

	t.Cleanup(func() {
		_ = l.Close()

		s.set(gone)
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}

			all.Go(func() { s.serve(conn) })
		}
	})

	return s
}

func (s *proxy) url() string { return "nats://" + s.listener.Addr().String() }

// serve passes on one connection to the server and back, until one end is closed.
func (s *proxy) serve(near net.Conn) {
	defer near.Close()

	far, err := net.Dial("tcp", s.to)
	if err != nil {
		return
	}
	defer far.Close()

	if !s.enter(near, far) {
		return
	}

	var both sync.WaitGroup

	both.Go(func() { defer far.Close(); s.copy(far, near, s.count) })
	both.Go(func() { defer near.Close(); s.copy(near, far, func([]byte) {}) })
	both.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.conns, near)
	delete(s.conns, far)
}

func (s *proxy) enter(conns ...net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.dials++

	if s.state == gone {
		return false
	}

	for _, c := range conns {
		s.conns[c] = struct{}{}
	}

	return true
}

func (s *proxy) count(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.requests += bytes.Count(data, []byte("PUB $JS.API."))
}

// copy passes on what it reads, including what it has kept while it was silent.
func (s *proxy) copy(to io.Writer, from io.Reader, note func([]byte)) {
	var (
		kept  []byte
		ended bool
		all   sync.WaitGroup
	)

	all.Go(func() {
		for {
			s.mu.Lock()
			for s.state == silent || len(kept) == 0 && !ended {
				s.moved.Wait()
			}

			next := kept
			kept = nil
			s.mu.Unlock()

			if _, err := to.Write(next); err != nil || len(next) == 0 {
				return
			}
		}
	})

	for buf := make([]byte, 64<<10); !ended; {
		n, err := from.Read(buf)
		note(buf[:n])

		s.mu.Lock()
		kept, ended = append(kept, buf[:n]...), err != nil
		s.moved.Broadcast()
		s.mu.Unlock()
	}

	all.Wait()
}

// set changes the mode.
func (s *proxy) set(p proxyMode) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.state = p
	s.moved.Broadcast()

	if p != gone {
		return
	}

	for c := range s.conns {
		_ = c.Close() // it may have ended meanwhile
	}
}

// counted returns the number of connections and requests so far.
func (s *proxy) counted() (dials, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.dials, s.requests
}
