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

// describe returns a delta as text.
func describe(c store.Delta[*storetest.Thing]) string {
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
		line += " undecodable"
	}

	return line
}

// deltas receives n deltas.
func deltas(t *testing.T, c *store.Deltas[*storetest.Thing], n int) (out []string) {
	t.Helper()
	for range n {
		e, ok := <-c.Events()
		if !ok {
			t.Fatalf("the watch ended with %v after %q", c.Err(), out)
		}
		out = append(out, describe(e))
	}

	return out
}

// TestDeltas checks that creations and updates are distinguished, a deletion has the last object, and an unreported
// entry is not reported as deleted.
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
		_, err := s.Create(ctx, storetest.NewThing("existing", 1))
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
		must(s.Delete(ctx, "existing"))
		must(s.Delete(ctx, "bad"))
		_, err = s.Create(ctx, storetest.NewThing("a", 7))
		must(err)
		got = append(got, deltas(t, w, 5)...)
		want := []string{
			"Created existing ->1 initial", "Created bad ->- initial undecodable", "Synced  ->-",
			"Created a ->1", "Updated a 1>2", "Updated a 2>3",
			"Updated a 3>- undecodable", "Deleted a 3>-", "Deleted existing 1>-", "Deleted bad ->-", "Created a ->7",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("deltas: -want, +got:\n%s", diff)
		}
		cancel()
		if _, ok := <-w.Events(); ok || !errors.Is(w.Err(), context.Canceled) {
			t.Errorf("after the context ended: open %t, %v", ok, w.Err())
		}
	})
}

// A scriptedStore is a store whose watch has the events of the test.
type scriptedStore struct {
	store.Store[*storetest.Thing]

	*store.Ending

	events chan store.Event[*storetest.Thing]
}

func (s *scriptedStore) Watch(context.Context, ...store.WatchOption) (store.Watcher[*storetest.Thing], error) {
	if s.events == nil {
		return nil, store.ErrNotFound
	}

	return s, nil
}

func (s *scriptedStore) Events() <-chan store.Event[*storetest.Thing] { return s.events }

// TestDeltasUnreportedDeletion checks that a snapshot of NATS may have the deletion of an entry that the watch never
// reported.
func TestDeltasUnreportedDeletion(t *testing.T) {
	s := &scriptedStore{Ending: store.NewEnding(), events: make(chan store.Event[*storetest.Thing], 3)}
	s.events <- store.Event[*storetest.Thing]{Op: store.Delete, Key: "deleted-before", Revision: 1}
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
	want := []store.Delta[*storetest.Thing]{{Type: store.Synced, Revision: 1, Epoch: "e"},
		{Type: store.Synced, Revision: 2, Epoch: "e"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deltas: -want, +got:\n%s", diff)
	}
}

// TestDeltasStop: Stop leaks no goroutine, and WatchDeltas returns the error of Watch.
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
		synctest.Wait() // the next delta is blocked
		w.Stop()
		w.Stop()
		synctest.Wait()
		if _, ok := <-w.Events(); ok || w.Err() != nil {
			t.Errorf("after Stop: open %t, %v", ok, w.Err())
		}
		if _, err := store.WatchDeltas[*storetest.Thing](t.Context(), &scriptedStore{}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a store that cannot be watched: %v", err)
		}
	})
}

// TestNotificationType checks that notifications of an informer have the type of the change.
func TestNotificationType(t *testing.T) {
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
