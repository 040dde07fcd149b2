package port

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// A machine knows which of its ports are taken.
type machine struct {
	mu    sync.Mutex
	taken map[int]bool
}

var errTaken = errors.New("taken")

func (m *machine) listen(port int) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.taken[port] {
		return nil, errTaken
	}
	m.taken[port] = true

	return listener{m, port}, nil
}

type listener struct {
	on   *machine
	port int
}

func (l listener) Close() error {
	l.on.mu.Lock()
	defer l.on.mu.Unlock()
	delete(l.on.taken, l.port)

	return nil
}

// TestFind asks from several goroutines two Ranges for all ports there are.
func TestFind(t *testing.T) {
	m := &machine{taken: map[int]bool{first + 7: true, last - 1: true}}
	got := make(chan int)

	var askers sync.WaitGroup
	for _, p := range []*Range{{listen: m.listen, start: 3}, {listen: m.listen, start: 3}} {
		for range 4 {
			askers.Go(func() {
				for port, err := p.find(); ; port, err = p.find() {
					if err != nil {
						return
					}
					got <- port
				}
			})
		}
	}
	go func() { askers.Wait(); close(got) }()

	seen := map[int]bool{}
	for port := range got {
		if seen[port] || port < first || port >= last || port == first+7 || port == last-1 {
			t.Errorf("port %d was handed out: twice=%v", port, seen[port])
		}
		seen[port] = true
	}
	if want := blocks*(blockSize-1) - 2; len(seen) != want {
		t.Errorf("%d ports were handed out, want %d", len(seen), want)
	}
}

func TestFindNothing(t *testing.T) {
	p := &Range{listen: func(int) (io.Closer, error) { return nil, errTaken }, start: blocks - 1}
	if port, err := p.find(); !errors.Is(err, errTaken) {
		t.Errorf("find() = %d, %v, want why none is free", port, err)
	}
}

// A record notes how a test failed, and has its cleanups.
type record struct {
	failures []string
	cleanups []func()
}

func (*record) Helper()            {}
func (r *record) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *record) Fatalf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// TestFree listens at a port of this machine, twice.
func TestFree(t *testing.T) {
	var r record
	port := Free(&r)
	if len(r.failures) > 0 {
		t.Fatalf("Free(...) failed: %q", r.failures)
	}
	for range 2 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatalf("cannot listen at the port: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if again := Free(t); again == port {
		t.Errorf("port %d was handed out twice", port)
	}
	for _, f := range r.cleanups {
		f()
	}
}

func TestFreeFails(t *testing.T) {
	var r record
	free(&r, &Range{listen: func(int) (io.Closer, error) { return nil, errTaken }})
	want := "cannot find a free port between 20000 and 30000: taken"
	if len(r.failures) != 1 || r.failures[0] != want {
		t.Errorf("failures: want %q, got %q", want, r.failures)
	}
}

// TestClose verifies that a Range that is closed leaves its ports to others.
func TestClose(t *testing.T) {
	m := &machine{taken: map[int]bool{}}
	r := &Range{listen: m.listen}
	port, err := r.find()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := (&Range{listen: m.listen}).find(); err != nil || other == port {
		t.Errorf("while it is open, another one finds %d, %v", other, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if other, err := (&Range{listen: m.listen}).find(); err != nil || other != port {
		t.Errorf("after it is closed, another one finds %d, %v, want %d", other, err, port)
	}
}
