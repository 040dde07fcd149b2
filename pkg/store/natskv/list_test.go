package natskv

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestListGoesOn checks that a list whose watch breaks starts another one, and has each object once.
func TestListGoesOn(t *testing.T) {
	const n = 1000 // more than is on its way at a time
	h := newHost(t)
	s := h.bucket(things, Options{})
	for k := range n {
		create(t, s, fmt.Sprintf("k%04d", k))
	}
	watches, seen := 0, map[string]int{}
	for thing, err := range s.list(t.Context(), store.Selection{}, func(received int) {
		if received > 1 {
			return
		}
		if watches++; watches > 1 {
			return
		}
		if err := h.nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
	}) {
		if err != nil {
			t.Fatalf("after %d of %d: %v", len(seen), n, err)
		}
		if seen[thing.Metadata.Key]++; seen[thing.Metadata.Key] > 1 {
			t.Errorf("%s is in the list again", thing.Metadata.Key)
		}
	}
	if len(seen) != n || watches < 2 {
		t.Errorf("%d of %d are in the list, after %d watches", len(seen), n, watches)
	}
}

// TestListOfAnotherBucket checks that a list does not continue with another bucket of the same name.
func TestListOfAnotherBucket(t *testing.T) {
	const n = 1000
	h := newHost(t)
	s := h.bucket(things, Options{Probe: 50 * time.Millisecond})
	for k := range n {
		create(t, s, fmt.Sprintf("k%04d", k))
	}
	watches, failed := 0, error(nil)
	for _, err := range s.list(t.Context(), store.Selection{}, func(received int) {
		if received > 1 {
			return
		}
		if watches++; watches > 1 {
			return
		}
		if err := h.recreate(t.Context(), things); err != nil {
			t.Fatal(err)
		}
		create(t, s, "new")
		if err := h.nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
	}) {
		if failed = err; err != nil {
			break
		}
	}
	if !errors.Is(failed, store.ErrReplaced) {
		t.Errorf("got error %v, want %v", failed, store.ErrReplaced)
	}
}

// A fakeWatch is a watch with given events.
type fakeWatch struct {
	*store.Ending

	events chan store.Event[*storetest.Thing]
}

func (t fakeWatch) Events() <-chan store.Event[*storetest.Thing] { return t.events }

// TestListFromStaleReplica checks that a list does not have an object that was deleted before the watch began. A watch
// of a stale replica reports that object, and then its deletion.
func TestListFromStaleReplica(t *testing.T) {
	w := fakeWatch{Ending: store.NewEnding(), events: make(chan store.Event[*storetest.Thing], 10)}
	for _, e := range []store.Event[*storetest.Thing]{
		{Op: store.Put, Key: "gone", Revision: 1}, {Op: store.Put, Key: "changed", Revision: 2},
		{Op: store.Put, Key: "kept", Revision: 3},
		{Op: store.Delete, Key: "gone", Revision: 4}, {Op: store.Put, Key: "changed", Revision: 5},
		{Synced: true, Revision: 5},
	} {
		w.events <- e
	}
	all, err := collect(w, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, fmt.Sprint(e.Key, " ", e.Revision))
	}
	if diff := cmp.Diff([]string{"kept 3", "changed 5"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
