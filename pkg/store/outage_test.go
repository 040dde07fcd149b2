package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

var errAway = errors.New("the store is away")

// A distant store is away for a time. Who watches it then waits for it, but not for
// longer than its patience; if it has none, it fails at once.
type distant struct {
	*memory.Store[*storetest.Thing]

	back     time.Time
	patience time.Duration
	tries    int
}

func (s *distant) Watch(ctx context.Context, o ...store.WatchOption) (store.Watcher[*storetest.Thing], error) {
	s.tries++
	select {
	case <-time.After(min(s.patience, time.Until(s.back))):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if time.Now().Before(s.back) {
		return nil, errAway
	}

	return s.Store.Watch(ctx, o...)
}

// TestOutage: when a store is back that waits for itself, an informer follows it within
// the shortest pause, however long it was away; one that fails at once is not asked in a
// loop, and followed within the longest.
func TestOutage(t *testing.T) {
	cases := map[string]struct {
		reason   string
		patience time.Duration
		within   time.Duration
		tries    int // at most, in ten minutes
	}{
		"Waits":       {reason: "A try that took longer than the pause was the pause.", patience: 30 * time.Second, within: store.DefaultMinBackoff, tries: 25},
		"FailsAtOnce": {reason: "The pause grows, up to its bound.", within: store.DefaultMaxBackoff, tries: 26},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for away := time.Second; away <= 10*time.Minute; away += 13 * time.Second {
				synctest.Test(t, func(t *testing.T) {
					s := &distant{Store: memory.New[*storetest.Thing]("things"), patience: tc.patience}
					i := store.NewInformer[*storetest.Thing](s, store.InformerOptions{})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					go func() { _ = i.Start(ctx) }()
					if err := i.WaitForSync(ctx); err != nil {
						t.Fatal(err)
					}
					s.back, s.tries = time.Now().Add(away), 0
					s.Break()
					thing, err := s.Create(ctx, storetest.NewThing("a", 1))
					if err != nil {
						t.Fatal(err)
					}
					if err := i.WaitForRevision(ctx, thing.Metadata.Revision); err != nil {
						t.Fatal(err)
					}
					if late := time.Since(s.back); late > tc.within || s.tries > tc.tries {
						t.Errorf("%s\nafter %s away: followed %s later, in %d tries", tc.reason, away, late, s.tries)
					}
				})
			}
		})
	}
}
