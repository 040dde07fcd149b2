package natskv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A notificationLog has a line for each notification of an informer.
type notificationLog struct {
	mu      sync.Mutex
	entries []string
	news    chan struct{}
}

// follow starts an informer with a resync interval.
func follow(t *testing.T, s store.Store[*storetest.Thing],
	resync time.Duration) (*store.Informer[*storetest.Thing], *notificationLog) {
	t.Helper()
	i := store.NewInformer(s, store.InformerOptions{
		Resync: resync, MinBackoff: 10 * time.Millisecond, MaxBackoff: time.Second,
	})
	d := &notificationLog{news: make(chan struct{}, 1)}
	i.AddHandler(func(n store.Notification[*storetest.Thing]) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.entries = append(d.entries, n.Op.String()+" "+n.Key)
		select {
		case d.news <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = i.Start(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	if err := i.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}

	return i, d
}

func (d *notificationLog) lines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()

	return slices.Clone(d.entries)
}

// awaitAny waits for a while for a notification.
func (d *notificationLog) awaitAny(within time.Duration) {
	select {
	case <-d.news:
	case <-time.After(within):
	}
}

// until waits for the line.
func (d *notificationLog) until(t *testing.T, line string) {
	t.Helper()
	for {
		lines := d.lines()
		if slices.Contains(lines, line) {
			return
		}
		select {
		case <-d.news:
		case <-wait.Context(t).Done():
			t.Fatalf("there is no notification %q; there are: %v", line, lines)
		}
	}
}

func create(t *testing.T, s *Store[*storetest.Thing], keys ...string) {
	t.Helper()
	for _, key := range keys {
		for tries := 0; ; tries++ { // what is sent to a server that goes away is not answered
			_, err := s.Create(t.Context(), storetest.NewThing(key, 1))
			if err == nil || tries > 0 && errors.Is(err, store.ErrAlreadyExists) {
				break
			}
			if tries == 10 {
				t.Fatal(err)
			}
		}
	}
}

// TestExpiry checks that expired entries are reported as deleted: by a marker if the bucket writes markers, and
// otherwise by a comparison.
func TestExpiry(t *testing.T) {
	h := newHost(t)
	for name, cfg := range map[string]jetstream.KeyValueConfig{
		"Silent": {Bucket: "silent", TTL: 5 * time.Second},
		"Marker": {Bucket: "marker", TTL: 5 * time.Second, LimitMarkerTTL: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s := h.bucket(cfg, Options{})
			resync := 300 * time.Millisecond
			gone := "delete a"
			if cfg.LimitMarkerTTL > 0 {
				resync, gone = -1, "purge a"
			}
			i, d := follow(t, s, resync)
			for len(d.lines()) == 0 { // what expires before a busy machine sees it is not missed
				create(t, s, "a")
				d.awaitAny(time.Second)
			}
			d.until(t, gone)
			if held := i.Held(); len(held) != 0 {
				t.Errorf("%v is held, although it expired", held)
			}
			// What is gone without a trace is no reason to wait for its revision.
			if err := i.WaitForRevision(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestExpiredTail checks that a snapshot does not wait for the last message of a bucket if that message has expired
// without a marker.
func TestExpiredTail(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	create(t, s, "a", "b", "c")
	stream, err := h.js.Stream(t.Context(), "KV_things")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.things.c")); err != nil {
		t.Fatal(err)
	}
	late, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Stop()
	for _, want := range []string{"a", "b", ""} {
		if e := <-late.Events(); e.Key != want || want == "" && (!e.Synced || e.Revision != 3) {
			t.Errorf("got %+v, want %q", e, want)
		}
	}
}

// TestBucketDeleted checks that when the bucket is deleted, the cache is kept: no object in it was deleted. When there
// is a bucket again, the informer continues.
func TestBucketDeleted(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{Probe: 100 * time.Millisecond})
	create(t, s, "a", "b")
	i, d := follow(t, s, 100*time.Millisecond)
	if err := h.js.DeleteKeyValue(t.Context(), "things"); err != nil {
		t.Fatal(err)
	}
	w, err := s.Watch(t.Context())
	if !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("watching a bucket that is gone: got %v, %v, want %v", w, err, store.ErrNotFound)
	}
	if diff := cmp.Diff([]string{"a", "b"}, i.Keys()); diff != "" {
		t.Errorf("the copy of a bucket that is gone: -want, +got:\n%s", diff)
	}
	if err := s.bucket.create(t.Context(), things); err != nil {
		t.Fatal(err)
	}
	create(t, s, "c")
	d.until(t, "put c")
	if diff := cmp.Diff([]string{"a", "b"}, i.Held()); diff != "" {
		t.Errorf("held: -want, +got:\n%s", diff)
	}
}

// TestOtherKindInItsPlace checks that a bucket that is replaced by one of another kind is not read.
func TestOtherKindInItsPlace(t *testing.T) {
	h := newHost(t)
	cfg := jetstream.KeyValueConfig{Bucket: "things"}
	s := h.bucket(cfg, Options{Kind: "thing"})
	cfg.Metadata = map[string]string{MetadataKind: "other"}
	if err := h.recreate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Watch(t.Context()); !errors.Is(err, store.ErrWrongKind) {
		t.Errorf("got error %v, want %v", err, store.ErrWrongKind)
	}
}

// TestOlderData starts a server with the data of an earlier time, as a restored
// backup, or a machine that lost what it had not written to its disk.
func TestOlderData(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	create(t, s, "a", "b")
	i, d := follow(t, s, -1)
	backup := filepath.Join(t.TempDir(), "js")
	if err := h.restart(func(dir string) error { return copyTree(dir, backup) }); err != nil {
		t.Fatal(err)
	}
	create(t, s, "c")
	d.until(t, "put c")
	if err := h.restart(func(dir string) error {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}

		return copyTree(backup, dir)
	}); err != nil {
		t.Fatal(err)
	}
	create(t, s, "d")
	d.until(t, "put d")
	// Revision 3 is that of d now: revisions alone do not show that c is lost. What
	// is missing is held when its deletion would have been received, before the next.
	create(t, s, "e")
	d.until(t, "put e")
	if diff := cmp.Diff([]string{"c"}, i.Held()); diff != "" {
		t.Errorf("held: -want, +got:\n%s", diff)
	}
}

// TestTruncatedData starts a server whose last block was truncated.
func TestTruncatedData(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	var keys []string
	for n := range 50 {
		keys = append(keys, fmt.Sprintf("k%02d", n))
	}
	create(t, s, keys...)
	i, d := follow(t, s, -1)
	if err := h.restart(cutLastBlock); err != nil {
		t.Fatal(err)
	}
	create(t, s, "after")
	d.until(t, "put after")
	lines := d.lines()
	if n := slices.IndexFunc(lines, func(line string) bool { return line != "put after" && line[:3] != "put" }); n >= 0 {
		t.Errorf("there is a notification %q of a lost object; held are %v", lines[n], i.Held())
	}
}

// cutLastBlock removes half of the largest block.
func cutLastBlock(dir string) error {
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "KV_things", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		return errors.Errorf("no block was found below %s: %v", dir, err)
	}
	last := blocks[len(blocks)-1]
	info, err := os.Stat(last)
	if err != nil {
		return err
	}

	return os.Truncate(last, info.Size()/2)
}

// TestReconnects breaks the connection a thousand times under a watch: the number of
// goroutines and of consumers on the server does not grow, although the server itself
// deletes none.
func TestReconnects(t *testing.T) {
	const rounds, times, most = 4, 250, 50
	h := newHost(t)
	s := h.bucket(things, Options{})
	s.inactive = time.Hour
	create(t, s, "a")
	before := runtime.NumGoroutine()
	for round := range rounds {
		for n := range times {
			h.reconnect(s)
			h.settles(before, most, (round*times)+n+1)
		}
		h.settles(before, 0, (round+1)*times)
		if n := h.nc.Stats().Reconnects; n < uint64((round+1)*times) {
			t.Fatalf("%d reconnects, want %d", n, (round+1)*times)
		}
	}
}

// reconnect watches until the snapshot is complete, breaks the connection, and waits for
// the end of the watch. A watch that ends before, on a busy machine, is not counted.
func (h *host) reconnect(s *Store[*storetest.Thing]) {
	h.t.Helper()
	for tries := 0; !h.breakUnder(s); tries++ {
		if tries == 10 {
			h.t.Fatal("no watch tells everything")
		}
	}
}

func (h *host) breakUnder(s *Store[*storetest.Thing]) (broken bool) {
	h.t.Helper()
	w, err := s.Watch(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for e := range w.Events() {
		if !e.Synced || broken {
			continue
		}
		broken = true
		if err := h.nc.ForceReconnect(); err != nil {
			h.t.Fatal(err)
		}
	}
	if !errors.Is(w.Err(), store.ErrWatchEnded) {
		h.t.Fatalf("the watch ended with %v", w.Err())
	}

	return broken
}

// TestStops stops watches while they have events to send. No goroutine or consumer is
// left of a watch whose events are not received, nor of one that is read to its end.
func TestStops(t *testing.T) {
	const times = 1000
	h := newHost(t)
	s := h.bucket(things, Options{})
	s.inactive = time.Hour
	create(t, s, "a", "b", "c")
	before := runtime.NumGoroutine()
	for n := range times {
		w, err := s.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-w.Events()
		w.Stop()
		for n%2 == 0 {
			if _, more := <-w.Events(); !more {
				break
			}
		}
	}
	h.settles(before, 0, times)
}

// settles waits until no more than this is left of watches: each has a few goroutines.
func (h *host) settles(before, watches, times int) {
	h.t.Helper()
	state := ""
	defer func() {
		if state != "" {
			h.t.Log(state)
		}
	}()
	wait.Until(h.t, "what there is of watches ends", func() bool {
		consumers, goroutines := h.consumers(h.t.Context(), "things"), runtime.NumGoroutine()
		if consumers <= watches && goroutines <= before+10*watches {
			state = ""

			return true
		}
		state = fmt.Sprintf("after %d watches there are %d consumers, and %d goroutines after %d before", times,
			consumers, goroutines, before)

		return false
	})
}
