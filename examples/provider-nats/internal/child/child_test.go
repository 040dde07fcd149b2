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

// Modes of the test binary, by its first argument.
const (
	idles    = "idles"    // until its standard input ends, or it is asked to
	deaf     = "deaf"     // ignores signals
	counts   = "counts"   // prints numbers for ever
	breaksUp = "breaksUp" // panics at once
	groups   = "groups"   // prints whether it leads its process group
)

func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case idles:
		// Either may come first: a signal stays pending until the end.
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

// A log keeps everything that is written to it.
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
	p := start(t, idles, nil)
	wait.Until(t, "it is ready", ready(p))
	p.Stop(wait.Patience())

	if code := p.ExitCode(); code != 0 {
		t.Errorf("it was asked to end, and its exit code is %d", code)
	}

	if err := p.Kill(); err == nil {
		t.Error("a process that has ended was killed")
	}
}

func TestStopDeaf(t *testing.T) {
	p := start(t, deaf, nil)
	wait.Until(t, "it is ready", ready(p))
	p.Stop(10 * time.Millisecond)

	if code := p.ExitCode(); code != -1 {
		t.Errorf("it ignores signals, and its exit code is %d", code)
	}
}

func TestSuspend(t *testing.T) {
	said := &log{}
	p := start(t, counts, said)
	wait.Until(t, "it says something", func() bool { return said.len() > 0 })

	if err := p.Suspend(); err != nil {
		t.Fatal(err)
	}

	// Earlier output may still arrive.
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
		t.Error("a program that does not exist was started")
	}
}
