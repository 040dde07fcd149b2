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

// Options of a store. The zero value opens a bucket that exists.
type Options struct {
	// Kind of the objects. A bucket with another kind in its metadata is refused.
	// Empty means no check.
	Kind string

	// Create is the configuration of the bucket if it has to be created; its name
	// and, under MetadataKind, its kind are filled in. If nil, the bucket has to
	// exist. A bucket that is deleted later is not created again.
	Create *jetstream.KeyValueConfig

	// Heartbeat is the interval of the server's heartbeats; a watch ends when two are
	// missing. The default is DefaultHeartbeat; at least half a second.
	Heartbeat time.Duration

	// Probe is how often a watch checks with the leader of the stream that the stream
	// is the same and everything was delivered. The default is DefaultProbe.
	Probe time.Duration

	// Timeout of a call. A write that times out may have happened, or may still
	// happen: read, and try again. The default is DefaultTimeout.
	Timeout time.Duration

	// Rules have the clock and the source of UIDs. The default is the system's clock
	// and randomness.
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

// A Store is a key-value bucket. Use New. It may be used concurrently, and
// needs no closing; the caller owns the connection.
type Store[T store.Object] struct {
	bucket   bucket
	kv       jetstream.KeyValue
	opts     Options
	inactive time.Duration // of watches
}

// New opens the bucket, or creates it if the options have a configuration. It may
// return store.ErrNotFound, and store.ErrWrongKind if the stream of that name is no
// bucket or has another kind.
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

// State returns the creation time of the bucket as its epoch, and the last sequence
// of its stream.
func (s *Store[T]) State(ctx context.Context) (store.State, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()

	return s.bucket.info(ctx)
}

// Get reads from the leader of the stream.
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

// Update replaces all but the status. It costs a read and a write.
func (s *Store[T]) Update(ctx context.Context, obj T) (T, error) {
	return s.change(ctx, obj, s.opts.Rules.Update)
}

// UpdateStatus replaces the status. It costs a read and a write.
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

// read returns the value of the key. A delete marker is store.ErrNotFound.
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

// limited adds the timeout: a request to a server that has stopped is never answered.
func (s *Store[T]) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.opts.Timeout)
}

// maxSizeExceeded is the server's code for a value larger than the bucket allows.
const maxSizeExceeded jetstream.ErrorCode = 10054

// typed converts an error of the client to one of package store. Some servers report
// a revision mismatch as an existing key as well, so it is checked first.
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
