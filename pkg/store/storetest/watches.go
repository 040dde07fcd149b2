package storetest

import (
	"context"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

var watches = map[string]func(*suite){
	"SnapshotThenChanges": watchSnapshotThenChanges,
	"EmptySnapshot":       watchEmptySnapshot,
	"MarkOfDeletion":      watchMarkOfDeletion,
	"InOrder":             watchInOrder,
	"Prefix":              watchPrefix,
	"SlowConsumer":        watchSlowConsumer,
	"Stop":                watchStop,
	"EndOfContext":        watchEndOfContext,
	"Severed":             watchSevered,
	"Recreated":           watchRecreated,
	"Deltas":              watchDeltas,
}

// A step is the form of an event that tests compare.
type step struct {
	Op     string
	Key    string
	Size   int
	Synced bool
}

func (s *suite) watch(o ...store.WatchOption) store.Watcher[*Thing] {
	s.Helper()
	w, err := s.Store.Watch(s.ctx, o...)
	s.must("watch", err)
	s.Cleanup(w.Stop)

	return w
}

// next returns the next n events. It omits repeated events with Synced.
func (s *suite) next(w store.Watcher[*Thing], n int) []store.Event[*Thing] {
	s.Helper()
	var out []store.Event[*Thing]
	for len(out) < n {
		select {
		case e, ok := <-w.Events():
			if !ok {
				s.Fatalf("the watch ended: %v", w.Err())
			}
			if e.Synced && s.whole[w] {
				continue
			}
			s.whole[w] = s.whole[w] || e.Synced
			out = append(out, e)
		case <-s.ctx.Done():
			s.Fatalf("%d events of %d came", len(out), n)
		}
	}

	return out
}

func steps(events []store.Event[*Thing]) (out []step) {
	for _, e := range events {
		st := step{Op: e.Op.String(), Key: e.Key, Synced: e.Synced}
		if e.Object != nil {
			st.Size = e.Object.Spec.Size
		}
		out = append(out, st)
	}

	return out
}

func (s *suite) steps(w store.Watcher[*Thing], want ...step) {
	s.Helper()
	if diff := cmp.Diff(want, steps(s.next(w, len(want)))); diff != "" {
		s.Errorf("events: -want, +got:\n%s", diff)
	}
}

func watchSnapshotThenChanges(s *suite) {
	s.create("a", 1)
	b := s.create("b", 2)
	b.Spec.Size = 3
	b = s.update(b)
	w := s.watch()
	events := s.next(w, 3)
	want := []step{{Op: "put", Key: "a", Size: 1}, {Op: "put", Key: "b", Size: 3}, {Op: "put", Synced: true}}
	if diff := cmp.Diff(want, steps(events)); diff != "" {
		s.Fatalf("snapshot: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(b, events[1].Object); diff != "" {
		s.Errorf("object of the snapshot: -want, +got:\n%s", diff)
	}
	state, err := s.Store.State(s.ctx)
	s.must("ask for the state", err)
	if got := (store.State{
		Epoch: events[2].Epoch, Revision: events[2].Revision, Expires: state.Expires,
	}); got != state {
		s.Errorf("the snapshot is that of %+v, want %+v", got, state)
	}
	b.Spec.Size = 4
	s.update(b)
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	s.create("c", 5)
	s.steps(w, step{Op: "put", Key: "b", Size: 4}, step{Op: "delete", Key: "a"}, step{Op: "put", Key: "c", Size: 5})
}

func watchEmptySnapshot(s *suite) {
	w := s.watch()
	s.steps(w, step{Op: "put", Synced: true})
	s.create("a", 1)
	s.steps(w, step{Op: "put", Key: "a", Size: 1})
}

// watchMarkOfDeletion checks that a deletion timestamp is reported as a change, and the removal as a deletion.
func watchMarkOfDeletion(s *suite) {
	in := NewThing("a", 1)
	in.Metadata.Finalizers = []string{"one"}
	_, err := s.Store.Create(s.ctx, in)
	s.must("create", err)
	w := s.watch()
	s.next(w, 2)
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	marked := s.next(w, 1)[0]
	if marked.Object == nil || marked.Object.Metadata.DeletionTimestamp == nil {
		s.Fatalf("the event of a deletion with finalizers is %+v", marked)
	}
	marked.Object.Metadata.Finalizers = nil
	s.update(marked.Object)
	s.steps(w, step{Op: "delete", Key: "a"})
}

// watchDeltas checks that creations and updates are distinguished, that a deletion has the last object, and that
// earlier deletions are not reported.
func watchDeltas(s *suite) {
	s.create("gone", 1)
	s.must("delete", s.Store.Delete(s.ctx, "gone"))
	s.create("a", 1)
	w, err := store.WatchDeltas[*Thing](s.ctx, s.Store)
	s.must("watch", err)
	s.Cleanup(w.Stop)
	var got []string
	next := func() { got = append(got, s.delta(w)) }
	next()
	b := s.create("b", 2)
	next()
	b.Spec.Size = 3
	s.update(b)
	next()
	s.must("delete", s.Store.Delete(s.ctx, "b"))
	next()
	s.create("b", 4)
	next()
	want := []string{"Created a 0>1 initial", "Created b 0>2", "Updated b 2>3", "Deleted b 3>0", "Created b 0>4"}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("deltas: -want, +got:\n%s", diff)
	}
}

// delta returns the next delta as text. It skips the end of the snapshot.
func (s *suite) delta(w *store.Deltas[*Thing]) string {
	s.Helper()
	size := func(t *Thing) int {
		if t == nil {
			return 0
		}

		return t.Spec.Size
	}
	for {
		select {
		case d, ok := <-w.Events():
			if !ok {
				s.Fatalf("the watch ended: %v", w.Err())
			}
			if d.Type == store.Synced {
				continue
			}
			line := fmt.Sprintf("%s %s %d>%d", d.Type, d.Key, size(d.Old), size(d.New))
			if d.Initial {
				line += " initial"
			}

			return line
		case <-s.ctx.Done():
			s.Fatal("a delta does not come")
		}
	}
}

// watchInOrder compares the revisions of the events with those of the writes.
func watchInOrder(s *suite) {
	const n = 200
	w := s.watch()
	s.next(w, 1)
	var want []uint64
	for i := range n {
		want = append(want, s.create(fmt.Sprintf("k%03d", i), i).Metadata.Revision)
	}
	var got []uint64
	for _, e := range s.next(w, n) {
		got = append(got, e.Revision)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("revisions: -written, +watched:\n%s", diff)
	}
}

func watchPrefix(s *suite) {
	s.create("a/1", 1)
	s.create("b", 2)
	w := s.watch(store.WithPrefix("a/"))
	s.steps(w, step{Op: "put", Key: "a/1", Size: 1}, step{Op: "put", Synced: true})
	s.create("b2", 3)
	s.create("a/2", 4)
	s.steps(w, step{Op: "put", Key: "a/2", Size: 4})
}

// watchSlowConsumer writes more than a connection buffers while the test receives no event. It checks that no event is
// lost, and that the writer does not wait.
func watchSlowConsumer(s *suite) {
	const n = 2000
	w := s.watch()
	s.next(w, 1)
	for i := range n {
		s.create(fmt.Sprintf("k%04d", i), i)
	}
	seen := map[string]bool{}
	for _, e := range s.next(w, n) {
		seen[e.Key] = true
	}
	if len(seen) != n {
		s.Errorf("%d keys of %d came", len(seen), n)
	}
}

func watchStop(s *suite) {
	w := s.watch()
	w.Stop()
	w.Stop()
	s.ends(w)
	if err := w.Err(); err != nil {
		s.Errorf("a watch that was stopped has the error %v", err)
	}
}

func watchEndOfContext(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	w, err := s.Store.Watch(ctx)
	s.must("watch", err)
	s.next(w, 1)
	cancel()
	s.ends(w)
	s.is("end of a watch whose context ended", w.Err(), context.Canceled)
}

// ends waits until the channel of a watch is closed.
func (s *suite) ends(w store.Watcher[*Thing]) {
	s.Helper()
	for {
		select {
		case _, ok := <-w.Events():
			if !ok {
				return
			}
		case <-s.ctx.Done():
			s.Fatal("the watch does not end")
		}
	}
}

func watchSevered(s *suite) {
	if s.Sever == nil {
		return
	}
	w := s.watch()
	s.next(w, 1)
	s.must("sever", s.Sever(s.ctx))
	s.ends(w)
	s.is("end of a watch that was severed", w.Err(), store.ErrWatchEnded)
}

// watchRecreated checks that a watch ends when its store is deleted.
func watchRecreated(s *suite) {
	if s.Recreate == nil {
		return
	}
	s.create("a", 1)
	w := s.watch()
	s.next(w, 2)
	before, err := s.Store.State(s.ctx)
	s.must("ask for the state", err)
	s.must("recreate", s.Recreate(s.ctx))
	s.ends(w)
	if err := w.Err(); !errors.Is(err, store.ErrWatchEnded) {
		s.Errorf("the watch ended with %v", err)
	}
	after, err := s.Store.State(s.ctx)
	s.must("ask for the state", err)
	if before.Epoch == after.Epoch {
		s.Errorf("the epoch %q is that of two stores", after.Epoch)
	}
}
