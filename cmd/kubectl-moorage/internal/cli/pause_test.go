package cli

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestPauseIsConfirmed checks that a pause is one only if the provider says so.
func TestPauseIsConfirmed(t *testing.T) {
	const unknown = "kubectl moorage: cannot confirm the pause of 1 object (stream/orders): it is not known whether it " +
		"is paused: "

	annotated := set("true", "metadata", "annotations", keyPaused)

	cases := map[string]struct {
		reason  string
		stream  map[string]any
		prepare func(s *server)
		args    []string
		want    result
	}{
		"Confirmed": {
			"the condition says it", stream("orders"), func(*server) {}, nil, result{0, "stream/orders paused\n", ""},
		},
		"Silent": {
			"a provider of another library may not know the annotation", stream("orders"),
			func(s *server) { s.deaf = true }, []string{"--timeout", brief},
			result{1, "stream/orders pause requested\n", unknown + "no provider has said so within 1s (--timeout): it may be " +
				"stopped or busy, or not know the annotation krateo.io/paused\n"},
		},
		"Annotated": {
			"the annotation alone says nothing", stream("orders", annotated), func(s *server) { s.deaf = true },
			[]string{"--timeout", brief},
			result{1, "stream/orders pause requested\n", unknown + "no provider has said so within 1s (--timeout): it may be " +
				"stopped or busy, or not know the annotation krateo.io/paused\n"},
		},
		"NotAwaited": {
			"the user does not want to wait", stream("orders"), func(s *server) { s.deaf = true }, []string{"--timeout", "0"},
			result{0, "stream/orders pause requested\n", ""},
		},
		"Forbidden": {
			"which right is missing", stream("orders"), func(s *server) { s.forbid["list streams.nats.example.org"] = true },
			nil, result{1, "stream/orders pause requested\n", unknown + `you may not list Stream "orders" in namespace "sea" ` +
				`(Forbidden): streams.nats.example.org is forbidden: User "reader" cannot list resource ` +
				`"streams.nats.example.org"` + "\n"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.add("streams.nats.example.org", tc.stream)
			tc.prepare(s)

			if got := s.run("", append([]string{"pause", "stream/orders"}, tc.args...)...); got != tc.want {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestPauseOfSeveral checks that each object is confirmed on its own.
func TestPauseOfSeveral(t *testing.T) {
	s := newServer(t)
	s.deaf = true
	s.add("streams.nats.example.org", stream("a"))
	s.add("streams.nats.example.org", stream("b"))

	limit := func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)

		go func() {
			s.awaitWatch(ctx, 1)
			s.add("streams.nats.example.org", stream("b", with("Synced", "False", "ReconcilePaused", "")))
			s.add("streams.nats.example.org", stream("a", with("Synced", "False", "ReconcilePaused", "")))
		}()

		return ctx, cancel
	}

	got := runLimited(t, "", limit, "pause", "streams", "--all", "-y", "--kubeconfig", s.kubeconfig)
	if want := (result{0, "stream/b paused\nstream/a paused\n", ""}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPauseOfOneTwice checks that an object that is named twice is paused and reported once.
func TestPauseOfOneTwice(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("a"))

	got := runWith(t, "pause", "stream/a", "stream/a", "--timeout", "0", "--kubeconfig", s.kubeconfig)
	if strings.Count(got.out, "stream/a") != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestPauseOfABusyProvider checks that the command waits on while objects are confirmed.
func TestPauseOfABusyProvider(t *testing.T) {
	s := newServer(t)
	s.deaf = true
	s.add("streams.nats.example.org", stream("a"))
	s.add("streams.nats.example.org", stream("b"))
	s.add("streams.nats.example.org", stream("c"))

	var rounds atomic.Int32

	// In each of the first two rounds, one object is confirmed. The third one ends the wait.
	limit := func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		round := rounds.Add(1)

		if round < 3 {
			name := string("ab"[round-1])
			s.add("streams.nats.example.org", stream(name, with("Synced", "False", "ReconcilePaused", "")))
		}

		go func() {
			s.awaitWatch(ctx, int(round))
			cancel()
		}()

		return ctx, cancel
	}

	got := runLimited(t, "", limit, "pause", "streams", "--all", "-y", "--kubeconfig", s.kubeconfig)
	if want := "stream/a paused\nstream/b paused\nstream/c pause requested\n"; got.out != want || got.code != 1 ||
		!strings.Contains(got.err, "cannot confirm the pause of 1 object (stream/c)") {
		t.Errorf("got %+v, want %s", got, want)
	}
}

// TestInterruptEndsTheWaitForAPause checks that an interrupt says what is not known.
func TestInterruptEndsTheWaitForAPause(t *testing.T) {
	s := newServer(t)
	s.deaf = true
	s.add("streams.nats.example.org", stream("orders"))

	ctx, interrupt := context.WithCancel(t.Context())

	go func() {
		s.awaitWatch(ctx, 1)
		interrupt()
	}()

	var out, stderr strings.Builder

	code := run(ctx, []string{"pause", "stream/orders", "--kubeconfig", s.kubeconfig},
		&console{in: strings.NewReader(""), out: &out, err: &stderr, now: time.Now, limit: limit})
	if code != 1 || out.String() != "stream/orders pause requested\n" ||
		!strings.HasSuffix(stderr.String(), "it is not known whether it is paused: interrupted\n") {
		t.Errorf("exit code %d, and\n%s%s", code, &out, &stderr)
	}
}
