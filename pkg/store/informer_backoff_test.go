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

var errUnreachable = errors.New("the store is unreachable")

// An unreachableStore is unreachable for a time. A watch then fails after the timeout, which may be zero.
type unreachableStore struct {
	*memory.Store[*storetest.Thing]

	back    time.Time
	timeout time.Duration
	tries   int
}

func (s *unreachableStore) Watch(ctx context.Context, o ...store.WatchOption) (store.Watcher[*storetest.Thing], error) {
	s.tries++
	select {
	case <-time.After(min(s.timeout, time.Until(s.back))):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if time.Now().Before(s.back) {
		return nil, errUnreachable
	}

	return s.Store.Watch(ctx, o...)
}

// TestWatchBackoff checks that an informer follows a store within MinBackoff after an outage if failed watches block,
// and within MaxBackoff if they fail at once.
func TestWatchBackoff(t *testing.T) {
	cases := map[string]struct {
		reason  string
		timeout time.Duration
		within  time.Duration
		tries   int // at most, in ten minutes
	}{
		"Waits": {reason: "The duration of a failed watch counts as backoff.", timeout: 30 * time.Second,
			within: store.DefaultMinBackoff, tries: 25},
		"FailsAtOnce": {reason: "The backoff doubles up to its limit.", within: store.DefaultMaxBackoff, tries: 26},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for away := time.Second; away <= 10*time.Minute; away += 13 * time.Second {
				synctest.Test(t, func(t *testing.T) {
					s := &unreachableStore{Store: memory.New[*storetest.Thing]("things"), timeout: tc.timeout}
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
						t.Errorf("%s\nafter an outage of %s: followed %s later, after %d watches", tc.reason, away, late, s.tries)
					}
				})
			}
		})
	}
}
