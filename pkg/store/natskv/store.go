package natskv

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// MetadataKind is the key of the kind in a bucket's metadata.
const MetadataKind = "moorage.dev/kind"

// Defaults of the options.
const (
	DefaultHeartbeat = time.Second
	DefaultProbe     = 5 * time.Second
	DefaultTimeout   = 5 * time.Second
)

// Options configure a store. With the zero value, New opens an existing bucket.
type Options struct {
	// Kind is the kind of the objects. New returns store.ErrWrongKind for a bucket with another kind in its metadata. With
	// an empty Kind, the default, New does not compare the kind.
	Kind string

	// Create is the configuration with which New creates a missing bucket. New sets the name of the bucket and, in its
	// metadata under MetadataKind, the kind. If Create is nil, the bucket has to exist. A bucket that is deleted after New
	// is not created again.
	Create *jetstream.KeyValueConfig

	// Heartbeat is the interval of the server's heartbeats. A watch ends when two heartbeats are missing. The default is
	// DefaultHeartbeat; the minimum is half a second.
	Heartbeat time.Duration

	// Probe is the interval at which a watch checks two things with the leader of the stream: that the stream was not
	// replaced, and that all messages were delivered. The default is DefaultProbe.
	Probe time.Duration

	// Timeout is the timeout of a call. A write that times out may have happened, or may still happen: read the object and
	// try again. The default is DefaultTimeout.
	Timeout time.Duration

	// Rules have the clock and the source of UIDs. The default is the system clock and random UIDs.
	Rules store.Rules
}

func (o Options) defaulted() Options {
	for value, def := range map[*time.Duration]time.Duration{
		&o.Heartbeat: DefaultHeartbeat, &o.Probe: DefaultProbe, &o.Timeout: DefaultTimeout,
	} {
		if *value <= 0 {
			*value = def
		}
	}
	o.Heartbeat = max(o.Heartbeat, 500*time.Millisecond)

	return o
}

// A Store is a store in a key-value bucket. Use New. Its methods may be called concurrently. It does not have to be
// closed; the caller owns the connection.
type Store[T store.Object] struct {
	bucket   bucket
	kv       jetstream.KeyValue
	opts     Options
	inactive time.Duration // of watches
}

// New opens the bucket. If the bucket is missing and o.Create is set, New creates it. It may return store.ErrNotFound.
// It returns store.ErrWrongKind if the stream of that name is not a bucket or has another kind.
func New[T store.Object](ctx context.Context, js jetstream.JetStream, name string, o Options) (*Store[T], error) {
	o = o.defaulted()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()

	b := bucket{js: js, name: name, kind: o.Kind}
	if _, err := b.info(ctx); errors.Is(err, store.ErrNotFound) && o.Create != nil {
		if err := b.create(ctx, *o.Create); err != nil {
			return nil, err
		}
	}
	if _, err := b.info(ctx); err != nil {
		return nil, err
	}
	kv, err := js.KeyValue(ctx, name)

	return &Store[T]{bucket: b, kv: kv, opts: o, inactive: inactive}, errors.Wrapf(err, "cannot open bucket %s", name)
}

// Name returns the name of the bucket.
func (s *Store[T]) Name() string { return s.bucket.name }

// State returns the creation time of the bucket as its epoch, and the last sequence number of its stream as its
// revision.
func (s *Store[T]) State(ctx context.Context) (store.State, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()

	return s.bucket.info(ctx)
}

// Get reads the object from the leader of the stream.
func (s *Store[T]) Get(ctx context.Context, key string) (T, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()

	var none T
	stored, err := s.read(ctx, key)
	if err != nil {
		return none, err
	}

	return store.Decode[T](key, stored.Revision, stored.Value)
}

// Create stores a new object.
func (s *Store[T]) Create(ctx context.Context, obj T) (T, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()

	var none T
	if store.Absent(obj) {
		return none, errors.Wrap(store.ErrInvalid, "there is no object")
	}
	m := obj.GetMetadata()
	if !store.ValidKey(m.Key) {
		return none, errors.Wrapf(store.ErrInvalid, "key %q", m.Key)
	}
	change, err := s.opts.Rules.Create(obj)
	if err != nil {
		return none, err
	}
	revision, err := s.kv.Create(ctx, m.Key, change.Value)
	if err != nil {
		return none, errors.Wrapf(typed(err), "cannot create %q in bucket %s", m.Key, s.Name())
	}

	return store.Decode[T](m.Key, revision, change.Value)
}

// Update replaces everything except the status. It makes one read and one write.
func (s *Store[T]) Update(ctx context.Context, obj T) (T, error) {
	return s.change(ctx, obj, s.opts.Rules.Update)
}

// UpdateStatus replaces the status. It makes one read and one write.
func (s *Store[T]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return s.change(ctx, obj, s.opts.Rules.UpdateStatus)
}

func (s *Store[T]) change(ctx context.Context, obj T,
	decide func(store.Stored, store.Object) (store.Change, error)) (T, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()

	var none T
	if store.Absent(obj) {
		return none, errors.Wrap(store.ErrInvalid, "there is no object")
	}
	stored, err := s.read(ctx, obj.GetMetadata().Key)
	if err != nil {
		return none, err
	}
	change, err := decide(stored, obj)
	switch {
	case err != nil:
		return none, err
	case change.Remove:
		if err := s.remove(ctx, stored); err != nil {
			return none, err
		}

		return store.Clone(obj)
	case change.None():
		return store.Decode[T](stored.Key, stored.Revision, stored.Value)
	}
	revision, err := s.write(ctx, stored, change.Value)
	if err != nil {
		return none, err
	}

	return store.Decode[T](stored.Key, revision, change.Value)
}

// Delete writes a delete marker, or sets the deletion timestamp if the object has
// finalizers.
func (s *Store[T]) Delete(ctx context.Context, key string, o ...store.DeleteOption) error {
	ctx, cancel := s.limited(ctx)
	defer cancel()

	stored, err := s.read(ctx, key)
	if err != nil {
		return err
	}
	change, err := s.opts.Rules.Delete(stored, store.DeletePreconditions(o...))
	switch {
	case err != nil:
		return err
	case change.Remove:
		return s.remove(ctx, stored)
	case change.Value != nil:
		_, err = s.write(ctx, stored, change.Value)
	}

	return err
}

func (s *Store[T]) write(ctx context.Context, stored store.Stored, value []byte) (uint64, error) {
	revision, err := s.kv.Update(ctx, stored.Key, value, stored.Revision)

	return revision, errors.Wrapf(typed(err), "cannot update %q in bucket %s", stored.Key, s.Name())
}

func (s *Store[T]) remove(ctx context.Context, stored store.Stored) error {
	err := s.kv.Delete(ctx, stored.Key, jetstream.LastRevision(stored.Revision))

	return errors.Wrapf(typed(err), "cannot delete %q in bucket %s", stored.Key, s.Name())
}

// read returns the value of the key. It returns store.ErrNotFound for a delete marker.
func (s *Store[T]) read(ctx context.Context, key string) (store.Stored, error) {
	if !store.ValidKey(key) {
		return store.Stored{}, errors.Wrapf(store.ErrInvalid, "key %q", key)
	}
	msg, err := s.bucket.message(ctx, messageRequest{LastFor: s.bucket.subject(key)})
	if err != nil {
		return store.Stored{}, errors.Wrapf(err, "cannot read %q in bucket %s", key, s.Name())
	}
	if op := operation(msg.Header); op != store.Put {
		return store.Stored{}, store.ErrNotFound
	}

	return store.Stored{Key: key, Revision: msg.Sequence, Value: msg.Data}, nil
}

// limited returns the context with the timeout of a call, because a server that has stopped never responds.
func (s *Store[T]) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.opts.Timeout)
}

// maxSizeExceeded is the server's error code for a value larger than the bucket allows.
const maxSizeExceeded jetstream.ErrorCode = 10054

// typed converts an error of the client to an error of package store. It checks for a revision mismatch first, because
// some servers also report a mismatch as an existing key.
func typed(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return store.ErrConflict
	case errors.Is(err, jetstream.ErrKeyExists):
		return store.ErrAlreadyExists
	case errors.Is(err, nats.ErrMaxPayload), errors.As(err, &api) && api.ErrorCode == maxSizeExceeded:
		return errors.Errorf("%w: %w", store.ErrTooLarge, err)
	case errors.Is(err, jetstream.ErrInvalidKey):
		return store.ErrInvalid
	default:
		return err
	}
}
