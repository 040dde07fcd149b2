package memory

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject {
		s := New[*storetest.Thing]("things")

		return storetest.Subject{
			Store:    s,
			BadKeys:  []string{"a b", "a:b", "a*", "ä", ".a", "a.", "a..b", ">"},
			TooLarge: DefaultMaxValue,
			Corrupt:  func(_ context.Context, key string) error { return s.Write(key, []byte(`{"spec":7}`)) },
			Vanish:   func(_ context.Context, key string) error { s.Vanish(key); return nil },
			Sever:    func(context.Context) error { s.Break(); return nil },
			Recreate: func(context.Context) error { s.Recreate(); return nil },
			Restart:  func(context.Context) error { s.Backup()(); return nil }, // a restart keeps the state
		}
	})
}

// TestWatchersAreRemoved checks that ended watches are removed from the store.
func TestWatchersAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New[*storetest.Thing]("things")
		ctx, cancel := context.WithCancel(t.Context())
		for n := range 30 {
			w, err := s.Watch(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if n%3 == 0 {
				w.Stop()
			}
			if n == 20 {
				s.Break()
			}
		}
		cancel()
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.watchers); n != 0 {
			t.Errorf("%d ended watches are still registered", n)
		}
	})
}
