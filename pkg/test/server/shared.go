package server

import (
	"context"
	"net"
	"strconv"
	"sync"

	"github.com/moorage-dev/moorage/pkg/test/port"
)

// A Shared is the server that all tests of a process share. The zero value is ready to use. It may be used
// concurrently.
type Shared struct {
	mu     sync.Mutex
	ports  *port.Range // keeps the port reserved
	server *Server
	err    error
}

// A TB has the methods of a test that Start uses. Each testing.TB implements it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Start returns the address of the server, which the first call starts at a free port of 127.0.0.1. The server ends
// with the process. If the server cannot be started, each test fails that asks for it.
func (s *Shared) Start(t TB, p Program) string {
	t.Helper()
	address, err := s.start(p)
	if err != nil {
		t.Fatalf("%v", err)
	}

	return address
}

// start starts the server once.
func (s *Shared) start(p Program) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil && s.err == nil {
		s.server, s.err = s.first(p)
	}
	if s.err != nil {
		return "", s.err
	}

	return s.server.Address(), nil
}

// first starts the server at a free port.
func (s *Shared) first(p Program) (*Server, error) {
	s.ports = port.NewRange()
	free, err := s.ports.Find()
	if err != nil {
		return nil, err
	}

	return Start(context.Background(), p, net.JoinHostPort("127.0.0.1", strconv.Itoa(free)))
}
