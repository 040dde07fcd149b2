package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

var informers = map[string]func(*suite){
	"Follows":           informerFollows,
	"ReadsItsWrites":    informerReadsItsWrites,
	"Severed":           informerSevered,
	"Restarted":         informerRestarted,
	"Vanished":          informerVanished,
	"RecreatedHolds":    informerRecreatedHolds,
	"SkipsBadEntries":   informerSkipsBadEntries,
	"MissedDeletion":    informerMissedDeletion,
	"SeveralShareOne":   informerSeveralShareOne,
	"ManyWhileSevering": informerManyWhileSevering,
}

// A notificationLog has a line for each notification of an informer.
type notificationLog struct {
	mu    sync.Mutex
	lines []string
	news  chan struct{}
}

func (d *notificationLog) note(n store.Notification[*Thing]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := n.Op.String() + " " + n.Key
	if n.New != nil {
		line += fmt.Sprint(" ", n.New.Spec.Size)
	}
	d.lines = append(d.lines, line)
	select {
	case d.news <- struct{}{}:
	default:
	}
}

func (d *notificationLog) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()

	return slices.Clone(d.lines)
}

// follow starts an informer, and records its notifications.
func (s *suite) follow(resync time.Duration) (*store.Informer[*Thing], *notificationLog) {
	s.Helper()
	i := store.NewInformer(s.Store, store.InformerOptions{
		Resync: resync, MinBackoff: 10 * time.Millisecond, MaxBackoff: time.Second,
	})
	d := &notificationLog{news: make(chan struct{}, 1)}
	i.AddHandler(d.note)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = i.Start(ctx)
	}()
	s.Cleanup(func() { cancel(); <-done })
	s.must("wait for the copy", i.WaitForSync(s.ctx))

	return i, d
}

// await waits for the line.
func (s *suite) await(d *notificationLog, line string) {
	s.Helper()
	for !slices.Contains(d.read(), line) {
		select {
		case <-d.news:
		case <-s.ctx.Done():
			s.Fatalf("there is no notification %q; there are: %v", line, d.read())
		}
	}
}

func (s *suite) equal(d *notificationLog, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, d.read()); diff != "" {
		s.Errorf("notifications: -want, +got:\n%s", diff)
	}
}

func informerFollows(s *suite) {
	a := s.create("a", 1)
	i, d := s.follow(-1)
	a.Spec.Size = 2
	s.update(a)
	s.await(d, "put a 2") // a store may skip a state that is replaced at once
	s.create("b", 3)
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	s.await(d, "delete a")
	s.equal(d, "put a 1", "put a 2", "put b 3", "delete a")
	if got, ok := i.Get("b"); !ok || got.Spec.Size != 3 {
		s.Errorf("the copy has %+v under b", got)
	}
	if diff := cmp.Diff([]string{"b"}, i.Keys()); diff != "" {
		s.Errorf("keys: -want, +got:\n%s", diff)
	}
}

func informerReadsItsWrites(s *suite) {
	i, _ := s.follow(-1)
	for n := range 20 {
		t := s.create(fmt.Sprint("k", n), n)
		s.must("wait for a write", i.WaitForRevision(s.ctx, t.Metadata.Revision))
		if got, ok := i.Get(t.Metadata.Key); !ok || got.Metadata.Revision != t.Metadata.Revision {
			s.Fatalf("the copy has %+v, although it has revision %d", got, t.Metadata.Revision)
		}
	}
	s.must("delete", s.Store.Delete(s.ctx, "k0"))
	state, err := s.Store.State(s.ctx)
	s.must("ask for the state", err)
	s.must("wait for a deletion", i.WaitForRevision(s.ctx, state.Revision))
	if _, ok := i.Get("k0"); ok {
		s.Error("the copy has what was deleted before")
	}
}

// informerSevered checks that after a gap the informer reports the difference, and no notification twice.
func informerSevered(s *suite) {
	if s.Sever == nil {
		return
	}
	s.create("a", 1)
	b := s.create("b", 2)
	_, d := s.follow(-1)
	s.must("sever", s.Sever(s.ctx))
	b.Spec.Size = 3
	s.update(b)
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	s.create("c", 4)
	s.await(d, "put c 4")
	s.await(d, "delete a")
	got := d.read()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"delete a", "put a 1", "put b 2", "put b 3", "put c 4"}, got); diff != "" {
		s.Errorf("notifications: -want, +got:\n%s", diff)
	}
}

func informerRestarted(s *suite) {
	if s.Restart == nil {
		return
	}
	s.create("a", 1)
	i, d := s.follow(-1)
	s.must("restart", s.Restart(s.ctx))
	s.createAgain("b", 2)
	s.await(d, "put b 2")
	s.equal(d, "put a 1", "put b 2")
	if held := i.Held(); len(held) != 0 {
		s.Errorf("%v is held after a restart that lost nothing", held)
	}
}

// createAgain tries until the thing exists. A store whose server stops during the call does not respond.
func (s *suite) createAgain(key string, size int) {
	s.Helper()
	for {
		_, err := s.Store.Create(s.ctx, NewThing(key, size))
		if err == nil || errors.Is(err, store.ErrAlreadyExists) {
			return
		}
		if s.ctx.Err() != nil {
			s.must("create "+key, err)
		}
	}
}

// informerVanished checks that a comparison finds a deletion without an event.
func informerVanished(s *suite) {
	if s.Vanish == nil {
		return
	}
	s.create("a", 1)
	s.create("b", 2)
	_, d := s.follow(100 * time.Millisecond)
	s.must("let vanish", s.Vanish(s.ctx, "a"))
	s.await(d, "delete a")
	s.equal(d, "put a 1", "put b 2", "delete a")
}

// informerMissedDeletion checks a deletion that happened while there was no watch and that left no marker.
func informerMissedDeletion(s *suite) {
	if s.Vanish == nil || s.Sever == nil {
		return
	}
	s.create("a", 1)
	s.create("b", 2)
	_, d := s.follow(-1)
	s.must("let vanish", s.Vanish(s.ctx, "a"))
	s.must("sever", s.Sever(s.ctx))
	s.await(d, "delete a")
	s.equal(d, "put a 1", "put b 2", "delete a")
}

// informerRecreatedHolds checks that an object that was lost with its store does not count as deleted. The informer
// reports the object when it exists again, when its key is deleted, or when it is released.
func informerRecreatedHolds(s *suite) {
	if s.Recreate == nil {
		return
	}
	s.create("a", 1)
	s.create("b", 2)
	s.create("c", 3)
	i, d := s.follow(100 * time.Millisecond)
	s.must("recreate", s.Recreate(s.ctx))
	s.create("b", 4)
	s.await(d, "put b 4")
	state, err := s.Store.State(s.ctx)
	s.must("ask for the state", err)
	s.must("wait for the new store", i.WaitForRevision(s.ctx, state.Revision))
	if diff := cmp.Diff([]string{"a", "c"}, i.Held()); diff != "" {
		s.Errorf("held: -want, +got:\n%s", diff)
	}
	if _, ok := i.Get("a"); ok {
		s.Error("the copy has what was lost")
	}
	s.create("a", 5)
	s.await(d, "put a 5")
	i.Release("a", "c", "nobody")
	s.equal(d, "put a 1", "put b 2", "put c 3", "put b 4", "put a 5", "delete c")
}

func informerSkipsBadEntries(s *suite) {
	if s.Corrupt == nil {
		return
	}
	s.must("corrupt", s.Corrupt(s.ctx, "bad"))
	s.create("a", 1)
	i, d := s.follow(50 * time.Millisecond)
	s.must("corrupt", s.Corrupt(s.ctx, "a"))
	s.create("b", 2)
	s.await(d, "put b 2")
	s.equal(d, "put a 1", "put b 2")
	if got, ok := i.Get("a"); !ok || got.Spec.Size != 1 {
		s.Errorf("the copy has %+v for an entry that cannot be decoded any more, want what it was", got)
	}
	if !i.Undecodable("a") || i.Undecodable("b") {
		s.Error("the copy does not tell which entry cannot be decoded")
	}
	if exists, held := i.Has("bad"); !exists || held {
		s.Error("the copy does not know of an entry that cannot be decoded")
	}
}

func informerSeveralShareOne(s *suite) {
	s.create("a", 1)
	i, first := s.follow(-1)
	second := &notificationLog{news: make(chan struct{}, 1)}
	remove := i.AddHandler(second.note)
	i.AddIndex("size", func(t *Thing) []string { return []string{fmt.Sprint(t.Spec.Size)} })
	s.create("b", 1)
	s.await(first, "put b 1")
	s.await(second, "put b 1")
	if got := i.ByIndex("size", "1"); len(got) != 2 || len(i.ByIndex("size", "2")) != 0 {
		s.Errorf("the index has %d of size 1, want 2", len(got))
	}
	remove()
	s.must("delete", s.Store.Delete(s.ctx, "b"))
	s.await(first, "delete b")
	s.equal(second, "put a 1", "put b 1")
	if got := i.ByIndex("size", "1"); len(got) != 1 {
		s.Errorf("the index has %d of size 1 after a deletion, want 1", len(got))
	}
}

// informerManyWhileSevering changes objects while the watch breaks: the informer
// reports each last state, and none again afterwards.
func informerManyWhileSevering(s *suite) {
	if s.Sever == nil {
		return
	}
	const n = 60
	i, d := s.follow(-1)
	for k := range n {
		s.create(fmt.Sprintf("k%02d", k), k)
		if k%20 == 10 {
			s.must("sever", s.Sever(s.ctx))
		}
	}
	for k := range n {
		s.await(d, fmt.Sprintf("put k%02d %d", k, k))
	}
	if got := d.read(); len(got) != n || len(i.Keys()) != n {
		s.Errorf("of %d changes there are %d notifications, and %d keys", n, len(got), len(i.Keys()))
	}
}
