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

// TestStoreOnThreeNodes is the suite for adapters, with buckets that have three
// replicas: servers answer a conflict otherwise there, and a replica may be behind.
func TestStoreOnThreeNodes(t *testing.T) {
	c := newCluster(t, 3)
	var made atomic.Int64
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		nc := dial(t, c.nodes[0])
		js, err := jetstream.New(nc)
		must(t, err)
		cfg := jetstream.KeyValueConfig{Bucket: fmt.Sprint("things", made.Add(1)), Replicas: 3}
		// A list fails with the watch it is read from: four servers and a busy machine may be mute for two seconds.
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
				within(t, "replicas that have purged", func(ctx context.Context) error { return c.purged(ctx, "KV_"+cfg.Bucket, subject) })

				return nil
			},
			Sever: func(context.Context) error { return nc.ForceReconnect() },
		}
	})
}

// purged tells whether every replica has done what the leader did, who answers alone: a watch
// at another one would still tell of what was there, and nobody that it is gone. What the
// leader knows of them is what they were sent; a direct read is answered by any of them, so
// that one of so many reads finds whoever has it.
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

// TestNewBuckets: a server of a cluster may not know of a new consumer yet when that is
// asked for messages. A watch does not end by that, and has everything soon all the same:
// what there was in every other bucket, and what comes after the snapshot in the rest.
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
			if err := c.js.DeleteKeyValue(ctx, name); !errors.Is(err, jetstream.ErrBucketNotFound) { // it may have been done before it was answered
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

// watched makes a bucket and returns how long a watch takes to tell of three objects that
// are made before it, or after its snapshot.
func (c *cluster) watched(t *testing.T, ctx context.Context, name string, later bool) (time.Duration, error) {
	// Servers of a busy machine may be mute for seconds; a watch that never speaks ends all the same.
	s, err := natskv.New[*storetest.Thing](ctx, c.js, name, natskv.Options{Create: &jetstream.KeyValueConfig{Replicas: 3}, Heartbeat: 15 * time.Second})
	if err == nil && !later {
		err = createThree(ctx, s)
	}
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	patient := wait.Context(t) // a try has ten seconds, on whatever machine
	w, err := s.Watch(patient)
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	told, whole := 0, false
	for e := range w.Events() {
		switch {
		case !e.Synced:
			told++
		case !whole && later:
			whole = true
			if err := createThree(patient, s); err != nil {
				return 0, err
			}
		default:
			whole = true
		}
		if whole && told >= 3 {
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
