package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// streams are the streams that Watch returns, one after the other.
type streams chan chan string

func (s streams) Watch(ctx context.Context) (<-chan string, error) {
	select {
	case stream := <-s:
		return stream, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// notes records notifications in a channel.
type notes chan string

func (n notes) Changed(names ...string) {
	for _, name := range names {
		n <- name
	}
}
func (n notes) Interrupted() { n <- "interrupted" }
func (n notes) Resumed()     { n <- "resumed" }

// TestEvents forwards names of two streams, beyond the end of the pass in which the subscription began.
func TestEvents(t *testing.T) {
	first, second := make(chan string), make(chan string)
	s, n := make(streams, 2), make(notes)
	s <- first
	s <- second
	pass, end := context.WithCancel(t.Context())
	stop, err := Events{API: s}.Subscribe(pass, nil, n)
	end()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	first <- "orders"
	got = append(got, <-n)
	close(first)
	got = append(got, <-n, <-n)
	second <- "users"
	got = append(got, <-n)
	stop()
	close(second)
	got = append(got, <-n)
	if diff := cmp.Diff([]string{"orders", "interrupted", "resumed", "users", "interrupted"}, got); diff != "" {
		t.Error(diff)
	}
}

// failing is an API whose Watch fails until attempts is 0.
type failing struct {
	attempts int
	streams
}

func (f *failing) Watch(ctx context.Context) (<-chan string, error) {
	if f.attempts--; f.attempts >= 0 {
		return nil, errors.New("connection refused")
	}

	return f.streams.Watch(ctx)
}

// TestEventsAfterAnOutage opens the stream again after Watch has failed twice, with pauses.
func TestEventsAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := make(chan string), make(chan string, 1)
		api, n := &failing{streams: make(streams, 2)}, make(notes)
		api.streams <- first
		api.streams <- second
		stop, err := Events{API: api}.Subscribe(t.Context(), nil, n)
		if err != nil {
			t.Fatal(err)
		}
		api.attempts = 2
		close(first)
		second <- "orders"
		began := time.Now()
		var got []string
		for len(got) < 3 {
			select {
			case note := <-n:
				got = append(got, note)
			case <-time.After(time.Hour):
				t.Fatalf("the stream is not open again after an hour: %q", got)
			}
		}
		if diff := cmp.Diff([]string{"interrupted", "resumed", "orders"}, got); diff != "" {
			t.Error(diff)
		}
		if paused := time.Since(began); paused != 10*time.Second {
			t.Errorf("Watch was called twice in vain, with pauses of %v, want 10s", paused)
		}
		stop()
		close(second)
		<-n // interrupted
	})
}

// TestEventsStopInAPause ends the goroutine although Watch fails.
func TestEventsStopInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan string)
		api, n := &failing{streams: make(streams, 1)}, make(notes)
		api.streams <- first
		stop, err := Events{API: api}.Subscribe(t.Context(), nil, n)
		if err != nil {
			t.Fatal(err)
		}
		api.attempts = 1000
		close(first)
		<-n // interrupted
		synctest.Wait()
		began := time.Now()
		stop()
		synctest.Wait()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the goroutine ended after %v", waited)
		}
	})
}
