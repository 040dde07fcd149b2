package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// told puts a delta into words.
func told(c store.Delta[*storetest.Thing]) string {
	size := func(obj *storetest.Thing) string {
		if obj == nil {
			return "-"
		}

		return fmt.Sprint(obj.Spec.Size)
	}
	line := fmt.Sprintf("%s %s %s>%s", c.Type, c.Key, size(c.Old), size(c.New))
	if c.Initial {
		line += " initial"
	}
	if c.Err != nil {
		line += " unreadable"
	}

	return line
}

// deltas takes so many changes.
func deltas(t *testing.T, c *store.Deltas[*storetest.Thing], n int) (out []string) {
	t.Helper()
	for range n {
		e, ok := <-c.Events()
		if !ok {
			t.Fatalf("it ended with %v after %q", c.Err(), out)
		}
		out = append(out, told(e))
	}

	return out
}

// TestDeltas: what was created is told from what was updated, a deletion comes with the last
// object, and what the receiver was never told of is not told as deleted.
func TestDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := memory.New[*storetest.Thing]("things")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.Create(ctx, storetest.NewThing("there", 1))
		must(err)
		must(s.Write("bad", []byte("{")))
		w, err := store.WatchDeltas[*storetest.Thing](ctx, s)
		must(err)
		got := deltas(t, w, 3)

		a, err := s.Create(ctx, storetest.NewThing("a", 1))
		must(err)
		got = append(got, deltas(t, w, 1)...)
		a.Spec.Size = 2
		a, err = s.Update(ctx, a)
		must(err)
		a.Spec.Size = 3
		_, err = s.Update(ctx, a)
		must(err)
		got = append(got, deltas(t, w, 2)...)
		must(s.Write("a", []byte("{")))
		must(s.Delete(ctx, "a"))
		must(s.Delete(ctx, "there"))
		must(s.Delete(ctx, "bad"))
		_, err = s.Create(ctx, storetest.NewThing("a", 7))
		must(err)
		got = append(got, deltas(t, w, 5)...)
		want := []string{
			"Created there ->1 initial", "Created bad ->- initial unreadable", "Synced  ->-",
			"Created a ->1", "Updated a 1>2", "Updated a 2>3",
			"Updated a 3>- unreadable", "Deleted a 3>-", "Deleted there 1>-", "Deleted bad ->-", "Created a ->7",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("deltas: -want, +got:\n%s", diff)
		}
		cancel()
		if _, ok := <-w.Events(); ok || !errors.Is(w.Err(), context.Canceled) {
			t.Errorf("the end: open %t, %v", ok, w.Err())
		}
	})
}

// A talker is a store whose watch says what a test lets it say.
type talker struct {
	store.Store[*storetest.Thing]

	*store.Ending

	events chan store.Event[*storetest.Thing]
}

func (s *talker) Watch(context.Context, ...store.WatchOption) (store.Watcher[*storetest.Thing], error) {
	if s.events == nil {
		return nil, store.ErrNotFound
	}

	return s, nil
}

func (s *talker) Events() <-chan store.Event[*storetest.Thing] { return s.events }

// TestDeltasOfWhatNobodyWasToldOf: a store in NATS tells in a snapshot what was deleted long ago.
func TestDeltasOfWhatNobodyWasToldOf(t *testing.T) {
	s := &talker{Ending: store.NewEnding(), events: make(chan store.Event[*storetest.Thing], 3)}
	s.events <- store.Event[*storetest.Thing]{Op: store.Delete, Key: "long ago", Revision: 1}
	s.events <- store.Event[*storetest.Thing]{Synced: true, Revision: 1, Epoch: "e"}
	s.events <- store.Event[*storetest.Thing]{Synced: true, Revision: 2, Epoch: "e"}
	close(s.events)
	w, err := store.WatchDeltas[*storetest.Thing](t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var got []store.Delta[*storetest.Thing]
	for c := range w.Events() {
		got = append(got, c)
	}
	want := []store.Delta[*storetest.Thing]{{Type: store.Synced, Revision: 1, Epoch: "e"}, {Type: store.Synced, Revision: 2, Epoch: "e"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deltas: -want, +got:\n%s", diff)
	}
}

// TestDeltasStop: whoever stops receiving leaves nothing behind, and a store that cannot be
// watched says so.
func TestDeltasStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New[*storetest.Thing]("things")
		for _, key := range []string{"a", "b", "c"} {
			if _, err := s.Create(t.Context(), storetest.NewThing(key, 1)); err != nil {
				t.Fatal(err)
			}
		}
		w, err := store.WatchDeltas[*storetest.Thing](t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		deltas(t, w, 1)
		synctest.Wait() // the next one waits to be received
		w.Stop()
		w.Stop()
		synctest.Wait()
		if _, ok := <-w.Events(); ok || w.Err() != nil {
			t.Errorf("after Stop: open %t, %v", ok, w.Err())
		}
		if _, err := store.WatchDeltas[*storetest.Thing](t.Context(), &talker{}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a store that cannot be watched: %v", err)
		}
	})
}

// TestNotificationsTellWhatHappened: those of an informer tell the same.
func TestNotificationsTellWhatHappened(t *testing.T) {
	a, b := storetest.NewThing("a", 1), storetest.NewThing("a", 2)
	for name, tc := range map[string]struct {
		n    store.Notification[*storetest.Thing]
		want store.DeltaType
	}{
		"Created": {store.Notification[*storetest.Thing]{Key: "a", New: a}, store.Created},
		"Updated": {store.Notification[*storetest.Thing]{Key: "a", Old: a, New: b}, store.Updated},
		"Deleted": {store.Notification[*storetest.Thing]{Op: store.Delete, Key: "a", Old: b}, store.Deleted},
		"Purged":  {store.Notification[*storetest.Thing]{Op: store.Purge, Key: "a"}, store.Deleted},
	} {
		if got := tc.n.Type(); got != tc.want {
			t.Errorf("%s: Type(): got %s", name, got)
		}
	}
}
