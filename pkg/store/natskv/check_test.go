package natskv

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestSnapshotEnds checks that a snapshot does not wait for announced messages that are never delivered, because they
// were replaced or have expired.
func TestSnapshotEnds(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	create(t, s, "a", "b")
	cases := map[string]struct {
		reason string
		seen   uint64
		purge  string
	}{
		"Replaced": {reason: "All that there was when the watch began has come.", seen: 2},
		"Expired":  {reason: "The rest of what there was is gone.", seen: 1, purge: "$KV.things.b"},
	}
	for _, name := range []string{"Replaced", "Expired"} {
		t.Run(name, func(t *testing.T) {
			tc := cases[name]
			if tc.purge != "" {
				stream, err := h.js.Stream(t.Context(), "KV_things")
				if err != nil {
					t.Fatal(err)
				}
				if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject(tc.purge)); err != nil {
					t.Fatal(err)
				}
			}
			start, err := s.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w := &watcher[*storetest.Thing]{
				bucket: s.bucket, opts: s.opts, Ending: store.NewEnding(),
				events: make(chan store.Event[*storetest.Thing], 1),
				start:  start, seen: tc.seen, delivered: tc.seen, pending: true,
			}
			for len(w.events) == 0 && w.Err() == nil && wait.Budget(t) > 0 {
				w.check(t.Context()) // which asks a busy server in vain, and again the next time
			}
			select {
			case e := <-w.events:
				if !e.Synced || e.Revision != 2 {
					t.Errorf("%s\ngot %+v", tc.reason, e)
				}
			default:
				t.Errorf("%s\nthe snapshot does not end: %v", tc.reason, w.Err())
			}
		})
	}
}

// TestSnapshotOfAnotherBucket checks a bucket that is replaced just before the leader is asked for further messages.
// The snapshot does not end although the new bucket has no messages.
func TestSnapshotOfAnotherBucket(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	create(t, s, "a", "b")
	start, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher[*storetest.Thing]{
		bucket: s.bucket, opts: s.opts, Ending: store.NewEnding(), events: make(chan store.Event[*storetest.Thing], 1),
		start: start, seen: 1, delivered: 1,
	}
	if err := h.recreate(t.Context(), things); err != nil {
		t.Fatal(err)
	}
	w.complete(t.Context())
	if len(w.events) > 0 || w.synced {
		t.Errorf("a snapshot without b was said to be all there is: %+v", <-w.events)
	}
	for w.Err() == nil && wait.Budget(t) > 0 {
		w.check(t.Context())
	}
	if !errors.Is(w.Err(), store.ErrReplaced) {
		t.Errorf("want the watch ended by %v, got %v", store.ErrReplaced, w.Err())
	}
}

// TestCancelledBeforeTheFirstMessage checks that a watch or a list whose context ends does not wait for the first
// message of a new consumer.
func TestCancelledBeforeTheFirstMessage(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	w := &watcher[*storetest.Thing]{bucket: s.bucket, opts: s.opts, inactive: s.inactive, Ending: store.NewEnding()}
	if err := w.consume(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer w.messages.Stop()
	w.pending = true // there is nothing to come
	ctx, cancel := context.WithCancel(t.Context())
	spoke := make(chan bool, 1)
	go func() { spoke <- w.answers(ctx, time.Hour) }()
	cancel()
	select {
	case over := <-spoke:
		if !over {
			t.Error("another consumer is made for nobody")
		}
	case <-wait.Context(t).Done():
		t.Error("a watch that was cancelled waits for its first message")
	}
}
