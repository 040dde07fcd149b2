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

// A replicated store has let the time of "ghost" run out. Get asks the leader, who knows
// that; watches and lists come from a replica that is behind and still has it, unless all
// have caught up.
type replicated struct {
	*memory.Store[*storetest.Thing]

	expired, whole atomic.Bool
	asked          atomic.Int64
}

func (s *replicated) Get(ctx context.Context, key string) (*storetest.Thing, error) {
	if key == "ghost" && s.expired.Load() {
		s.asked.Add(1)

		return nil, store.ErrNotFound
	}

	return s.Store.Get(ctx, key)
}

func (s *replicated) List(ctx context.Context, o ...store.ListOption) iter.Seq2[*storetest.Thing, error] {
	return func(yield func(*storetest.Thing, error) bool) {
		for thing, err := range s.Store.List(ctx, o...) {
			if err == nil && thing.Metadata.Key == "ghost" && s.whole.Load() {
				continue
			}
			if !yield(thing, err) {
				return
			}
		}
	}
}

// TestReplicaBehind: what a replica still has, and the store itself does not, is not told
// again, and is no sign that the store was put back: what else vanished is told.
func TestReplicaBehind(t *testing.T) {
	for name, meets := range map[string]func(*replicated){
		"List": func(*replicated) { <-time.After(10 * time.Minute) },
		"Watch": func(s *replicated) {
			s.Break()
			s.Vanish("b")
			<-time.After(5 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &replicated{Store: memory.New[*storetest.Thing]("things")}
				for _, key := range []string{"a", "ghost", "b"} {
					if _, err := s.Create(t.Context(), storetest.NewThing(key, 1)); err != nil {
						t.Fatal(err)
					}
				}
				i := store.NewInformer[*storetest.Thing](s, store.InformerOptions{Resync: time.Minute})
				var mu sync.Mutex
				var told []string
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = i.Start(ctx) }()
				synctest.Wait()
				i.AddHandler(func(n store.Notification[*storetest.Thing]) {
					mu.Lock()
					defer mu.Unlock()
					if !n.Initial {
						told = append(told, n.Op.String()+" "+n.Key)
					}
				})
				s.expired.Store(true)
				s.whole.Store(true)
				<-time.After(2 * time.Minute)
				s.whole.Store(false)
				before := s.asked.Load()
				meets(s)
				s.Vanish("b") // if it has not yet
				<-time.After(10 * time.Minute)
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff([]string{"delete ghost", "delete b"}, told); diff != "" {
					t.Errorf("told: -want, +got:\n%s", diff)
				}
				if held := i.Held(); len(held) != 0 {
					t.Errorf("%v is held", held)
				}
				if s.asked.Load() == before {
					t.Error("nobody asked for what is named and not known")
				}
			})
		})
	}
}
