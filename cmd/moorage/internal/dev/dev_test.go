package dev

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/port"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// A record is the output so far. It may be written and read concurrently.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the record.
func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.text.Write(b)
}

// String returns the whole record.
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.text.String()
}

// until waits until a text occurred a number of times, and fails with the record otherwise.
func (r *record) until(t *testing.T, said string, times int) {
	t.Helper()

	enough := false
	defer func() {
		if !enough {
			t.Logf("what was said:\n%s", r)
		}
	}()

	wait.Until(t, fmt.Sprintf("%q is said %d times", said, times), func() bool {
		enough = strings.Count(r.String(), said) >= times

		return enough
	})
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()

	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t)))
}

// runs starts a process that is stopped with the test.
func runs(t *testing.T, name, script string) *child {
	t.Helper()

	c, err := start(&record{}, t.TempDir(), name, nil, "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.stop)

	return c
}

// A watched session checks its files.
type watched struct {
	*session

	said *record
	end  chan outcome
}

// An outcome is the reason why a session stopped checking its files.
type outcome struct {
	ready bool
	err   error
}

// watches lets a session check its files from now on.
func watches(t *testing.T, s *session) *watched {
	t.Helper()

	w := &watched{session: s, said: &record{}, end: make(chan outcome, 1)}
	s.Out = w.said

	if s.Dir == "" {
		s.Dir = t.TempDir()
	}

	was, err := look(s.Dir)
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})

	go func() {
		defer close(done)

		ready, err := s.watch(ctx, was, s.Examples)
		w.end <- outcome{ready, err}
	}()

	t.Cleanup(func() {
		stop()
		<-done
	})

	return w
}

// changes writes a source.
func (w *watched) changes(t *testing.T) {
	t.Helper()

	if err := os.WriteFile(filepath.Join(w.Dir, "main.go"), []byte("package main"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ends waits until the session stops checking.
func (w *watched) ends(t *testing.T) outcome {
	t.Helper()

	select {
	case got := <-w.end:
		return got
	case <-wait.Context(t).Done():
		t.Fatalf("it goes on:\n%s", w.said)

		return outcome{}
	}
}

// The output when a provider ends by itself, and when a file changes then.
const (
	crashed = "moorage: the provider has ended: exit status 3; it is started again when a Go file changes\n"
	change  = "moorage: a file changed\n"
)

// TestWatchEnds lets a provider, or its fake, end by itself: its exit state and the next step are reported, and the
// next change restarts it.
func TestWatchEnds(t *testing.T) {
	cases := map[string]struct {
		reason         string
		provider, fake string // how they run
		want           string
	}{
		"Provider": {"Its author mends it.", "exit 3", "exec sleep 600", crashed},
		"Fake": {"So he does with his fake.", "exec sleep 600", "exit 3",
			strings.Replace(crashed, "provider", "fake", 1)},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := watches(t, &session{provider: runs(t, "provider", tc.provider), fake: runs(t, "fake", tc.fake)})
			w.said.until(t, tc.want, 1)
			w.changes(t)

			if got := w.ends(t); got != (outcome{}) {
				t.Errorf("%s\na file changed, and nothing can be made again: %+v", tc.reason, got)
			}

			if got := w.said.String(); got != tc.want+change {
				t.Errorf("%s\nmore was told than that: %q", tc.reason, got)
			}
		})
	}
}

// TestWatchServer lets the API server end, which ends the session.
func TestWatchServer(t *testing.T) {
	const want = "the API server has ended: exit status 4"

	s := &session{provider: runs(t, "provider", "exec sleep 600"), server: runs(t, "API server", "exit 4")}
	if got := watches(t, s).ends(t); got.err == nil || !strings.Contains(got.err.Error(), want) {
		t.Errorf("want %q, got %v", want, got.err)
	}
}

// TestWatchExamples waits for examples. A changed file ends the wait: they may become Ready with the change.
func TestWatchExamples(t *testing.T) {
	server := httptest.NewServer(&slow{})
	t.Cleanup(server.Close)

	cases := map[string]struct {
		reason string
		path   string // of the API server; elsewhere there is none
		script string // of the provider
		said   []string
		want   bool
	}{
		"Ready": {"They are.", "", "exec sleep 600", []string{"the Bucket example is Ready"}, true},
		"Never": {"They cannot be, and the author mends that.", "/elsewhere", "exec sleep 600", nil, false},
		"Crashed": {"The provider ends over them.", "/elsewhere", "exit 3",
			[]string{strings.Replace(crashed, "Go file", "Go file or an example", 1)}, false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := watches(t, &session{
				Options:  Options{Dir: exampleDir(t), Examples: true},
				cluster:  &cluster{server: server.URL + tc.path, http: server.Client()},
				provider: runs(t, "provider", tc.script),
				within:   wait.Budget(t),
			})

			for _, said := range tc.said {
				w.said.until(t, said, 1)
			}

			w.changes(t)

			if got := w.ends(t); got != (outcome{ready: tc.want}) {
				t.Errorf("%s\nwant ready: %t, got %+v", tc.reason, tc.want, got)
			}

			if strings.Contains(w.said.String(), "in vain") {
				t.Errorf("%s\nwhat is told once by other words is told again:\n%s", tc.reason, w.said)
			}
		})
	}
}

// TestCommandHasNoFlags leaves the flags of the go command to the author's shell.
func TestCommandHasNoFlags(t *testing.T) {
	if env := (&session{}).command(t.Context(), "go", "build").Env; env != nil {
		t.Errorf("the environment is not that of this process: %q", env)
	}
}
