package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFaultProxy: requests and answers pass, or do not, as each fault says.
func TestFaultProxy(t *testing.T) {
	ends := func(end func(context.Context) error, err error) func() {
		return func() {
			if err = errors.Join(err, end(context.Background())); err != nil {
				t.Error(err)
			}
		}
	}
	cases := map[string]struct {
		reason string
		begin  func(*Proxy) func()
		during []string // the results of MAKE a, MAKE b and MAKE c over connections that are made when needed
		made   int      // volumes of them
	}{
		"Calm": {"everything passes", func(*Proxy) func() { return func() {} }, []string{"OK", "OK", "OK"}, 3},
		"Break": {"nothing reaches the server", func(p *Proxy) func() { return ends(p.Break(t.Context())) },
			[]string{"broken", "broken", "broken"}, 0},
		"Silence": {"requests reach the server, and no answer comes",
			func(p *Proxy) func() { return ends(p.Silence(t.Context())) }, []string{"hangs", "hangs", "hangs"}, 3},
		"AnswerLost": {"the server has processed the second request",
			func(p *Proxy) func() { return ends(p.Interrupt(t.Context(), Interruption{Exchange: 2})) },
			[]string{"OK", "broken", "broken"}, 2},
		"RequestLost": {"the server does not get the third request", func(p *Proxy) func() {
			return ends(p.Interrupt(t.Context(), Interruption{Exchange: 2, Answered: true}))
		}, []string{"OK", "OK", "broken"}, 2},
		"AnswerHangs": {"the connection stays open", func(p *Proxy) func() {
			return ends(p.Interrupt(t.Context(), Interruption{Exchange: 1, Hang: true}))
		}, []string{"hangs", "hangs", "hangs"}, 1},
		"Delay": {"an answer that comes in time is an answer", func(p *Proxy) func() { return p.Delay(time.Millisecond) },
			[]string{"OK", "OK", "OK"}, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server := newLineServer(t)
			p := FaultProxy(t, server.listener.Addr().String())
			client := &lineClient{address: p.Address()}
			if got := result(client, "MAKE", "first", "1"); got != "OK" || p.Exchanges() != 1 {
				t.Fatalf("before: %s after %d exchanges", got, p.Exchanges())
			}
			end := c.begin(p)
			var got []string
			for _, name := range []string{"a", "b", "c"} {
				got = append(got, result(client, "MAKE", name, "1"))
			}
			if diff := cmp.Diff(c.during, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			server.mu.Lock()
			made := len(server.volumes) - 1
			server.mu.Unlock()
			if made != c.made {
				t.Errorf("%s: the server got %d requests instead of %d", c.reason, made, c.made)
			}
			end()
			_ = result(client, "GET", "first") // a connection of before may be reset
			if got := result(client, "GET", "first"); got != "OK" {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// result makes a request, and returns the first word of the answer, "hangs" or "broken".
func result(c *lineClient, words ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	answer, err := c.ask(ctx, words...)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "hangs"
	case err != nil:
		return "broken"
	default:
		return answer[0]
	}
}

// answerLines starts a server that answers each line except TELL, and returns its address. It ends with the test.
func answerLines(t *testing.T, network, address string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if lines.Text() != "TELL" {
						_, _ = fmt.Fprintln(conn, "OK")
					}
				}
			}()
		}
	}()

	return l.Addr().String()
}

// TestFaultProxyOfSocket: a server may listen on a Unix socket.
func TestFaultProxyOfSocket(t *testing.T) {
	path := answerLines(t, "unix", filepath.Join(t.TempDir(), "s"))
	if got := result(&lineClient{address: FaultProxy(t, path).Address()}, "GET", "first"); got != "OK" {
		t.Error(got)
	}
}

// A oneWayClient is connected with a server that answers each line except TELL.
type oneWayClient struct {
	net.Conn
	answers *bufio.Scanner
}

// oneWay returns a proxy and a client that is connected through it.
func oneWay(t *testing.T) (*Proxy, oneWayClient) {
	t.Helper()
	p := FaultProxy(t, answerLines(t, "tcp", "127.0.0.1:0"))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	return p, oneWayClient{conn, bufio.NewScanner(conn)}
}

// ask sends GET, and reports whether the client got an answer.
func (c oneWayClient) ask() bool {
	_, err := fmt.Fprintln(c, "GET")

	return err == nil && c.answers.Scan()
}

// tell sends a line that the server does not answer. It returns when the proxy has seen the line.
func (c oneWayClient) tell(t *testing.T, p *Proxy) {
	t.Helper()
	if _, err := fmt.Fprintln(c, "TELL"); err != nil {
		t.Fatal(err)
	}
	for !p.pending() {
		runtime.Gosched()
	}
}

// TestOneWayMessages: data that the server does not answer delays no later interruption.
func TestOneWayMessages(t *testing.T) {
	for name, c := range map[string]struct {
		interruption Interruption
		answered     int // requests after the interruption began
	}{
		"AnswerLost":  {Interruption{Exchange: 1}, 0},
		"RequestLost": {Interruption{Exchange: 1, Answered: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, client := oneWay(t)
			if !client.ask() {
				t.Fatal("the client is not connected")
			}
			client.tell(t, p)
			if _, err := p.Interrupt(t.Context(), c.interruption); err != nil {
				t.Fatal(err)
			}
			answered := 0
			for answered < 3 && client.ask() {
				answered++
			}
			if answered != c.answered {
				t.Errorf("%d requests were answered instead of %d", answered, c.answered)
			}
		})
	}
}

// TestPendingOneWayMessages: the suite waits once for the answer to data that the server does not answer.
func TestPendingOneWayMessages(t *testing.T) {
	p, client := oneWay(t)
	h := newHost(time.Minute)
	defer h.close()
	w := newWire(lineProbe{Proxy: p}, time.Millisecond)
	if !client.ask() {
		t.Fatal("the client is not connected")
	}
	client.tell(t, p)
	w.awaitPending(h)
	w.patience = time.Hour
	client.tell(t, p)
	w.awaitPending(h) // the test does not end if this waits for an answer
	if h.stopped() {
		t.Error(h.stopReason.Load())
	}
}

// TestPendingAfterReset: a request that the server processes while the connection of its client is reset is pending
// until the server has answered it. The answer belongs to no later exchange.
func TestPendingAfterReset(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	begun, release := make(chan struct{}), make(chan struct{})
	go func() {
		conn, err := l.Accept()
		for err == nil { // the first connection is that of FaultProxy, and has no data
			if lines := bufio.NewScanner(conn); lines.Scan() {
				close(begun)
				<-release
				_, _ = fmt.Fprintln(conn, "OK")
				_ = conn.Close()
			}
			conn, err = l.Accept()
		}
	}()
	p := FaultProxy(t, l.Addr().String())
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := fmt.Fprintln(client, "GET"); err != nil {
		t.Fatal(err)
	}
	<-begun
	mend, _ := p.Break(t.Context()) // it returns no error
	if bufio.NewScanner(client).Scan() {
		t.Error("the client gets an answer over a connection that was reset")
	}
	if err := mend(t.Context()); err != nil {
		t.Error(err)
	}
	if !p.pending() {
		t.Error("the server still processes a request, and none is pending")
	}
	end, _ := p.Interrupt(t.Context(), Interruption{Exchange: 1}) // it returns no error
	close(release)
	for p.pending() {
		runtime.Gosched()
	}
	p.mu.Lock()
	if p.state != passing {
		t.Error("the answer to a request of before is taken for the exchange that is interrupted")
	}
	p.mu.Unlock()
	if err := end(t.Context()); err != nil {
		t.Error(err)
	}
}
