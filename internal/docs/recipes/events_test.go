package recipes

import (
	"context"
	"testing"

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
