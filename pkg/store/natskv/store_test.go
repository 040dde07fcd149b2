package natskv

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

var things = jetstream.KeyValueConfig{Bucket: "things", Storage: jetstream.FileStorage}

// TestStore is the suite, with a server for each test: one of its tests restarts it.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		h := newHost(t)
		s := h.bucket(things, Options{})

		return storetest.Subject{
			Store:    s,
			BadKeys:  []string{"a b", "a:b", "a*", "ä", ".a", "a.", "a..b", ">"},
			TooLarge: 1 << 20,
			Corrupt: func(ctx context.Context, key string) error {
				_, err := s.kv.PutString(ctx, key, `{"spec":`)

				return err
			},
			Vanish: func(ctx context.Context, key string) error {
				stream, err := h.js.Stream(ctx, "KV_things")
				if err != nil {
					return err
				}

				return stream.Purge(ctx, jetstream.WithPurgeSubject("$KV.things."+key))
			},
			Sever:    func(context.Context) error { return h.nc.ForceReconnect() },
			Recreate: func(ctx context.Context) error { return h.recreate(ctx, things) },
			Restart:  func(context.Context) error { return h.restart(nil) },
		}
	})
}

// TestNew opens buckets, and refuses streams that only have the name of one.
func TestNew(t *testing.T) {
	h := newHost(t)
	ctx := t.Context()
	h.bucket(jetstream.KeyValueConfig{Bucket: "links"}, Options{Kind: "link"})
	h.bucket(jetstream.KeyValueConfig{Bucket: "old"}, Options{})
	if _, err := h.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "KV_stream", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 1,
	}); err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		bucket string
		opts   Options
		want   error
	}{
		"Own":      {reason: "A bucket of this kind is opened.", bucket: "links", opts: Options{Kind: "link"}},
		"NotAsked": {reason: "Who does not ask takes any kind.", bucket: "links"},
		"OtherKind": {
			reason: "A bucket of another kind is refused.", bucket: "links",
			opts: Options{Kind: "volume"}, want: store.ErrWrongKind,
		},
		"CreateBad": {
			reason: "To make one that is there changes nothing.", bucket: "links",
			opts: Options{Kind: "volume", Create: &jetstream.KeyValueConfig{}},
			want: store.ErrWrongKind,
		},
		"Unmarked": {reason: "A bucket that does not say is taken.", bucket: "old", opts: Options{Kind: "link"}},
		"NoBucket": {
			reason: "A stream with the name of a bucket is none.", bucket: "stream",
			want: store.ErrWrongKind,
		},
		"Nothing": {
			reason: "A bucket is not made unless it is said how.", bucket: "nothing",
			want: store.ErrNotFound,
		},
		"BadStorage": {
			reason: "An error of the server is returned.", bucket: "a b",
			opts: Options{Create: &jetstream.KeyValueConfig{}},
			want: jetstream.ErrInvalidStreamName,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.opts.Timeout = time.Minute
			if _, err := New[*storetest.Thing](ctx, h.js, tc.bucket, tc.opts); !errors.Is(err, tc.want) {
				t.Errorf("%s\nNew(...): got error %v, want %v", tc.reason, err, tc.want)
			}
		})
	}
}

// TestLargestOfBucket checks that a bucket may allow less than a connection.
func TestLargestOfBucket(t *testing.T) {
	h := newHost(t)
	s := h.bucket(jetstream.KeyValueConfig{Bucket: "small", MaxValueSize: 1000}, Options{})
	thing := storetest.NewThing("a", 1)
	thing.Spec.Text = strings.Repeat("x", 1000)
	if _, err := s.Create(t.Context(), thing); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("got error %v, want %v", err, store.ErrTooLarge)
	}
}

// TestLargestOfAll checks that the leader returns the largest value that the server accepts, although its answer
// exceeds the maximum of a message.
func TestLargestOfAll(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	thing := storetest.NewThing("a", 1)
	thing.Spec.Text = strings.Repeat("x", 1<<20-1000)
	if _, err := s.Create(t.Context(), thing); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), "a")
	if err != nil || got.Spec.Text != thing.Spec.Text {
		t.Errorf("the value did not come back: %v", err)
	}
}

// TestCreateAfterMarkers checks that a key with a delete marker can be created.
func TestCreateAfterMarkers(t *testing.T) {
	h := newHost(t)
	s := h.bucket(things, Options{})
	ctx := t.Context()
	for _, remove := range []func(string) error{
		func(key string) error { return s.kv.Delete(ctx, key) },
		func(key string) error { return s.kv.Purge(ctx, key) },
	} {
		if _, err := s.Create(ctx, storetest.NewThing("a", 1)); err != nil {
			t.Fatal(err)
		}
		if err := remove("a"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got error %v, want %v", err, store.ErrNotFound)
		}
	}
}
