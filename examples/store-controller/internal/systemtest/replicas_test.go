package systemtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestStoreOnThreeNodes runs the conformance suite of stores with buckets that have three replicas: there the servers
// report a conflict differently, and a replica may be behind.
func TestStoreOnThreeNodes(t *testing.T) {
	c := newCluster(t, 3)
	var made atomic.Int64
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		nc := dial(t, c.nodes[0])
		js, err := jetstream.New(nc)
		must(t, err)
		cfg := jetstream.KeyValueConfig{Bucket: fmt.Sprint("things", made.Add(1)), Replicas: 3}
		// A list fails with the watch that it reads: four servers on a busy machine may be silent for two seconds.
		opts := natskv.Options{Create: &cfg, Heartbeat: 15 * time.Second, Timeout: 30 * time.Second}
		var s *natskv.Store[*storetest.Thing]
		within(t, "a bucket", func(ctx context.Context) (err error) {
			s, err = natskv.New[*storetest.Thing](ctx, js, cfg.Bucket, opts)

			return err
		})
		t.Cleanup(func() { _ = c.js.DeleteKeyValue(context.Background(), cfg.Bucket) })

		return storetest.Subject{
			Store: s, BadKeys: []string{"a b", "ä", "a..b"}, TooLarge: 1 << 20,
			Corrupt: func(ctx context.Context, key string) error {
				kv, err := js.KeyValue(ctx, cfg.Bucket)
				if err == nil {
					_, err = kv.PutString(ctx, key, `{"spec":`)
				}

				return err
			},
			Vanish: func(ctx context.Context, key string) error {
				stream, err := js.Stream(ctx, "KV_"+cfg.Bucket)
				if err != nil {
					return err
				}

				subject := "$KV." + cfg.Bucket + "." + key
				if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
					return err
				}
				within(t, "replicas that have purged",
					func(ctx context.Context) error { return c.purged(ctx, "KV_"+cfg.Bucket, subject) })

				return nil
			},
			Sever: func(context.Context) error { return nc.ForceReconnect() },
		}
	})
}

// purged returns an error unless every replica has applied the purge, to which the leader alone responds: a watch at
// another replica would still report the object, and never its deletion. The leader only knows what the replicas were
// sent; any replica responds to a direct read, so that one of many reads finds a replica that still has the message.
func (c *cluster) purged(ctx context.Context, name, subject string) error {
	const reads = 30
	if err := c.whole(ctx, name); err != nil {
		return err
	}
	stream, err := c.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	for range reads {
		if _, err = stream.GetLastMsgForSubject(ctx, subject); !errors.Is(err, jetstream.ErrMsgNotFound) {
			return errors.Errorf("a replica has the message, or does not answer: %v", err)
		}
	}

	return nil
}

// TestNewBuckets: a server of a cluster may not know a new consumer yet when its messages are requested. A watch does
// not end by that, and soon reports everything: in every other bucket objects that exist before the watch, in the rest
// objects that are created after its snapshot.
func TestNewBuckets(t *testing.T) {
	c := newCluster(t, 3)
	var worst time.Duration
	for n := range *buckets {
		name, later := fmt.Sprint("new", n), n%2 == 1
		within(t, "a watch that tells everything", func(ctx context.Context) error {
			took, err := c.watched(t, ctx, name, later)
			worst = max(worst, took)

			return err
		})
		within(t, "no such bucket", func(ctx context.Context) error {
			// A lost response may have deleted it already.
			if err := c.js.DeleteKeyValue(ctx, name); !errors.Is(err, jetstream.ErrBucketNotFound) {
				return err
			}

			return nil
		})
	}
	fmt.Printf("watch-of-a-new-bucket: %s\n", worst.Round(time.Millisecond))
	if worst > resumes() {
		t.Errorf("it took %s", worst)
	}
}

// watched creates a bucket and returns how long a watch takes to report three objects that are created before it, or
// after its snapshot.
func (c *cluster) watched(t *testing.T, ctx context.Context, name string, later bool) (time.Duration, error) {
	// Servers of a busy machine may be silent for seconds; a watch without any heartbeat still ends.
	s, err := natskv.New[*storetest.Thing](ctx, c.js, name,
		natskv.Options{Create: &jetstream.KeyValueConfig{Replicas: 3}, Heartbeat: 15 * time.Second})
	if err == nil && !later {
		err = createThree(ctx, s)
	}
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	patient := wait.Context(t) // the context of a try ends after ten seconds on any machine
	w, err := s.Watch(patient)
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	events, whole := 0, false
	for e := range w.Events() {
		switch {
		case !e.Synced:
			events++
		case !whole && later:
			whole = true
			if err := createThree(patient, s); err != nil {
				return 0, err
			}
		default:
			whole = true
		}
		if whole && events >= 3 {
			return time.Since(begin), nil
		}
	}
	t.Errorf("%s: after %s a watch ended with %v", name, time.Since(begin), w.Err())

	return 0, nil
}

func createThree(ctx context.Context, s store.Store[*storetest.Thing]) error {
	for _, key := range []string{"a", "b", "c"} {
		if _, err := s.Create(ctx, storetest.NewThing(key, 1)); err != nil && !errors.Is(err, store.ErrAlreadyExists) {
			return err
		}
	}

	return nil
}
