package natskv

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A bucket is a key-value bucket whose reads go to the leader of its stream. The type of the NATS client reads from any
// replica.
type bucket struct {
	js   jetstream.JetStream
	name string
	kind string // empty if any kind is accepted
}

func (b bucket) stream() string            { return "KV_" + b.name }
func (b bucket) subject(key string) string { return "$KV." + b.name + "." + key }

// A NATS server removes the folder of an account after the last stream of the account is deleted, even while the next
// stream is being created in it. The server then reports only the general code of failed creations (nats-server 2.15.2,
// stream.stop).
const (
	createFailed jetstream.ErrorCode = 10049
	attempts                         = 6
	firstPause                       = 10 * time.Millisecond // each is twice the one before
)

// create creates the bucket, unless it exists.
func (b bucket) create(ctx context.Context, cfg jetstream.KeyValueConfig) error {
	cfg.Bucket = b.name
	if b.kind != "" {
		metadata := map[string]string{MetadataKind: b.kind}
		for key, value := range cfg.Metadata {
			metadata[key] = value
		}
		cfg.Metadata = metadata
	}
	for try := 1; ; try++ {
		_, err := b.js.CreateKeyValue(ctx, cfg)
		if errors.Is(err, jetstream.ErrBucketExists) {
			return nil // created concurrently; the caller checks its kind
		}
		if answer := (*jetstream.APIError)(nil); try == attempts || !errors.As(err, &answer) ||
			answer.ErrorCode != createFailed {
			return errors.Wrapf(err, "cannot create bucket %s", b.name)
		}
		select {
		case <-ctx.Done():
			return errors.Errorf("cannot create bucket %s: %w, after %w", b.name, ctx.Err(), err)
		case <-time.After(firstPause << (try - 1)):
		}
	}
}

// info reads the state from the leader of the stream. The creation time distinguishes
// the stream from an earlier one of the same name.
func (b bucket) info(ctx context.Context) (store.State, error) {
	stream, err := b.js.Stream(ctx, b.stream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return store.State{}, errors.Errorf("bucket %s: %w", b.name, store.ErrNotFound)
	}
	if err != nil {
		return store.State{}, errors.Wrapf(err, "cannot ask for bucket %s", b.name)
	}
	info := stream.CachedInfo()
	if err := b.fits(info.Config); err != nil {
		return store.State{}, err
	}

	return store.State{
		Epoch:    info.Created.UTC().Format(time.RFC3339Nano),
		Revision: info.State.LastSeq,
		Expires:  info.Config.MaxAge > 0 || info.Config.AllowMsgTTL,
	}, nil
}

// fits returns an error for a stream that has the name of the bucket but is not a bucket, and for a bucket of another
// kind.
func (b bucket) fits(cfg jetstream.StreamConfig) error {
	if cfg.MaxMsgsPerSubject < 1 || !slices.Contains(cfg.Subjects, b.subject(">")) {
		return errors.Errorf("stream %s %w: it is no key-value bucket", cfg.Name, store.ErrWrongKind)
	}
	if kind := cfg.Metadata[MetadataKind]; b.kind != "" && kind != "" && kind != b.kind {
		return errors.Errorf("bucket %s %w: objects of kind %q, not %q", b.name, store.ErrWrongKind, kind, b.kind)
	}

	return nil
}

// A messageRequest requests one message: the last message of a subject, or the next message of a subject from a
// sequence on.
type messageRequest struct {
	LastFor string `json:"last_by_subj,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
}

type message struct {
	Sequence uint64
	Header   nats.Header
	Data     []byte
}

// message reads a message from the leader. The method Get of the NATS client reads from any replica, which may be
// stale.
func (b bucket) message(ctx context.Context, req messageRequest) (message, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return message{}, err
	}
	reply, err := b.js.Conn().RequestWithContext(ctx, b.api()+"STREAM.MSG.GET."+b.stream(), body)
	if err != nil {
		return message{}, err
	}
	var resp struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Sequence uint64 `json:"seq"`
			Header   []byte `json:"hdrs"`
			Data     []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &resp); err != nil {
		return message{}, errors.Wrap(err, "cannot understand the server")
	}
	switch {
	case resp.Error != nil && resp.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return message{}, store.ErrNotFound
	case resp.Error != nil:
		return message{}, resp.Error
	case resp.Message == nil:
		return message{}, errors.New("the server sent no message")
	}
	out := message{Sequence: resp.Message.Sequence, Data: resp.Message.Data}
	if len(resp.Message.Header) > 0 {
		out.Header, err = nats.DecodeHeadersMsg(resp.Message.Header)
	}

	return out, errors.Wrap(err, "cannot understand the headers of a message")
}

// api is the prefix of requests to JetStream.
func (b bucket) api() string {
	opts := b.js.Options()
	switch {
	case opts.Domain != "":
		return "$JS." + opts.Domain + ".API."
	case opts.APIPrefix != "":
		return strings.TrimSuffix(opts.APIPrefix, ".") + "."
	default:
		return "$JS.API."
	}
}

// operation returns the operation that a message of a bucket records.
func operation(h nats.Header) store.Op {
	switch h.Get("KV-Operation") {
	case "DEL":
		return store.Delete
	case "PURGE":
		return store.Purge
	}
	switch h.Get(jetstream.MarkerReasonHeader) {
	case "":
		return store.Put
	case "Remove":
		return store.Delete
	default: // MaxAge, Purge
		return store.Purge
	}
}
