package child_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/child"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// What the program of these tests does, if its first argument says so.
const (
	waits    = "waits"    // until its standard input ends, or it is asked to
	deaf     = "deaf"     // to being asked
	counts   = "counts"   // aloud, for ever
	breaksUp = "breaksUp" // at once
	groups   = "groups"   // tells whether it leads its process group
)

func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case waits:
		// Whichever comes first, the other one does no harm: it stays asked until it has ended.
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)

		ended, finish := context.WithCancel(context.Background())

		go func() {
			defer finish()

			_, _ = io.Copy(io.Discard, os.Stdin)
		}()

		fmt.Println("ready")

		select {
		case <-end:
		case <-ended.Done():
		}
	case deaf:
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")

		for range asked {
			fmt.Println("what?")
		}
	case counts:
		for i := 0; ; i++ {
			fmt.Println(i, strings.Repeat(".", 100))
		}
	case groups:
		fmt.Println("leads:", leads())
	case breaksUp:
		panic("broken")
	default:
		os.Exit(m.Run())
	}
}

// A log keeps all that is written to it.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Write(b)
}

func (l *log) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Len()
}

func start(t *testing.T, what string, also io.Writer) *child.Process {
	t.Helper()

	self, err := child.Self()
	if err != nil {
		t.Fatal(err)
	}

	p, err := child.Start([]string{self, what}, also)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = p.Kill() })

	return p
}

func ready(p *child.Process) func() bool {
	return func() bool { return strings.Contains(p.LastWords(), "ready") }
}

func TestStop(t *testing.T) {
	p := start(t, waits, nil)
	wait.Until(t, "it is ready", ready(p))
	p.Stop(wait.Patience())

	if code := p.ExitCode(); code != 0 {
		t.Errorf("it was asked to end, and its exit code is %d", code)
	}

	if err := p.Kill(); err == nil {
		t.Error("what is gone was killed")
	}
}

func TestStopDeaf(t *testing.T) {
	p := start(t, deaf, nil)
	wait.Until(t, "it is ready", ready(p))
	p.Stop(10 * time.Millisecond)

	if code := p.ExitCode(); code != -1 {
		t.Errorf("it does not listen, and its exit code is %d", code)
	}
}

func TestSuspend(t *testing.T) {
	said := &log{}
	p := start(t, counts, said)
	wait.Until(t, "it says something", func() bool { return said.len() > 0 })

	if err := p.Suspend(); err != nil {
		t.Fatal(err)
	}

	// What it had said before may still come.
	quiet, last := 0, -1

	wait.Until(t, "it says nothing any more", func() bool {
		if now := said.len(); now == last {
			quiet++
		} else {
			quiet, last = 0, now
		}

		return quiet > 10
	})

	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}

	wait.Until(t, "it goes on", func() bool { return said.len() > last })

	if err := p.Kill(); err != nil {
		t.Error(err)
	}

	if words := p.LastWords(); len(words) > 4<<10 || !strings.Contains(words, "...") {
		t.Errorf("%d bytes of last words", len(words))
	}
}

func TestBreaksUp(t *testing.T) {
	p := start(t, breaksUp, nil)
	<-p.Done()

	if code := p.ExitCode(); code != 2 || !strings.Contains(p.LastWords(), "panic: broken") {
		t.Errorf("exit code %d, last words %q", code, p.LastWords())
	}
}

func TestNoProgram(t *testing.T) {
	if _, err := child.Start([]string{"/does/not/exist"}, nil); err == nil {
		t.Error("what does not exist was started")
	}
}
