package store_test

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// A staleReplica is a store in which one key has expired. Get reads from the leader, which no longer has the key.
// Lists and watches read from a replica that still has it, unless it has caught up.
type staleReplica struct {
	*memory.Store[*storetest.Thing]

	expired, caughtUp atomic.Bool
	liveReads         atomic.Int64
}

func (s *staleReplica) Get(ctx context.Context, key string) (*storetest.Thing, error) {
	if key == "expired-key" && s.expired.Load() {
		s.liveReads.Add(1)

		return nil, store.ErrNotFound
	}

	return s.Store.Get(ctx, key)
}

func (s *staleReplica) List(ctx context.Context, o ...store.ListOption) iter.Seq2[*storetest.Thing, error] {
	return func(yield func(*storetest.Thing, error) bool) {
		for thing, err := range s.Store.List(ctx, o...) {
			if err == nil && thing.Metadata.Key == "expired-key" && s.caughtUp.Load() {
				continue
			}
			if !yield(thing, err) {
				return
			}
		}
	}
}

// TestStaleReplica checks that a key that only a stale replica has is not reported again, and is not taken for a sign
// of a restore: other missing keys are reported as deleted.
func TestStaleReplica(t *testing.T) {
	for name, trigger := range map[string]func(*staleReplica){
		"List": func(*staleReplica) { <-time.After(10 * time.Minute) },
		"Watch": func(s *staleReplica) {
			s.Break()
			s.Vanish("b")
			<-time.After(5 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &staleReplica{Store: memory.New[*storetest.Thing]("things")}
				for _, key := range []string{"a", "expired-key", "b"} {
					if _, err := s.Create(t.Context(), storetest.NewThing(key, 1)); err != nil {
						t.Fatal(err)
					}
				}
				i := store.NewInformer[*storetest.Thing](s, store.InformerOptions{Resync: time.Minute})
				var mu sync.Mutex
				var got []string
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = i.Start(ctx) }()
				synctest.Wait()
				i.AddHandler(func(n store.Notification[*storetest.Thing]) {
					mu.Lock()
					defer mu.Unlock()
					if !n.Initial {
						got = append(got, n.Op.String()+" "+n.Key)
					}
				})
				s.expired.Store(true)
				s.caughtUp.Store(true)
				<-time.After(2 * time.Minute)
				s.caughtUp.Store(false)
				before := s.liveReads.Load()
				trigger(s)
				s.Vanish("b") // unless the trigger has
				<-time.After(10 * time.Minute)
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff([]string{"delete expired-key", "delete b"}, got); diff != "" {
					t.Errorf("notifications: -want, +got:\n%s", diff)
				}
				if held := i.Held(); len(held) != 0 {
					t.Errorf("%v is held", held)
				}
				if s.liveReads.Load() == before {
					t.Error("there was no live read of the unknown key")
				}
			})
		})
	}
}
