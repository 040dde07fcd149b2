package natsconn

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// The client of NATS distinguishes push consumers from pull consumers, and its calls return only the
// requested type. The existing consumer may be of the other type, so the requests are made here.

// Actions of a request to create a consumer.
const (
	actionCreate = "create"
	actionUpdate = "update"
)

type consumerRequest struct {
	Stream string                   `json:"stream_name"`
	Config jetstream.ConsumerConfig `json:"config"`
	Action string                   `json:"action"`
}

type pauseRequest struct {
	PauseUntil time.Time `json:"pause_until,omitzero"`
}

// ConsumerInfo returns the configuration and state of a consumer. The error is
// jetstream.ErrConsumerNotFound if NATS says that there is none, and
// jetstream.ErrStreamNotFound if there is not even the stream.
func (c *Conn) ConsumerInfo(ctx context.Context, stream, name string) (*jetstream.ConsumerInfo, error) {
	info := &jetstream.ConsumerInfo{}

	return info, c.call(ctx, "CONSUMER.INFO."+stream+"."+name, nil, info)
}

// CreateConsumer creates a consumer. The error is jetstream.ErrConsumerExists if
// one of that name exists and differs in any way.
func (c *Conn) CreateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	return c.call(ctx, "CONSUMER.CREATE."+stream+"."+cfg.Name, consumerRequest{stream, cfg, actionCreate}, nil)
}

// UpdateConsumer replaces the configuration of a consumer, except for its pause. The error is
// jetstream.ErrConsumerDoesNotExist if NATS says that there is none.
func (c *Conn) UpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	return c.call(ctx, "CONSUMER.CREATE."+stream+"."+cfg.Name, consumerRequest{stream, cfg, actionUpdate}, nil)
}

// PauseConsumer stops deliveries of a consumer until then. A time in the past resumes them.
func (c *Conn) PauseConsumer(ctx context.Context, stream, name string, until time.Time) error {
	return c.call(ctx, "CONSUMER.PAUSE."+stream+"."+name, pauseRequest{until}, nil)
}

// DeleteConsumer deletes a consumer. The error is jetstream.ErrConsumerNotFound
// if NATS says that there is none.
func (c *Conn) DeleteConsumer(ctx context.Context, stream, name string) error {
	return c.call(ctx, "CONSUMER.DELETE."+stream+"."+name, nil, nil)
}

// call makes one request to the API of JetStream and reads the answer.
func (c *Conn) call(ctx context.Context, operation string, request, answer any) error {
	var body []byte

	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return errors.Wrapf(err, "cannot write the request %s", operation)
		}
	}

	return c.request(ctx, operation, func(ctx context.Context) error {
		msg, err := c.nc.RequestWithContext(ctx, c.api+operation, body)
		if err != nil {
			return err
		}

		return read(msg.Data, answer)
	})
}

// read decodes the answer of NATS, which may be an error.
func read(data []byte, answer any) error {
	var refusal struct {
		Error *jetstream.APIError `json:"error"`
	}

	if err := json.Unmarshal(data, &refusal); err != nil {
		return errors.Wrap(err, "cannot read the answer of NATS")
	}

	if refusal.Error != nil {
		return refusal.Error
	}

	if answer == nil {
		return nil
	}

	return errors.Wrap(json.Unmarshal(data, answer), "cannot read the answer of NATS")
}

// api returns the prefix of all subjects of the JetStream API.
func api(s Settings) string {
	switch {
	case s.domain != "":
		return "$JS." + s.domain + ".API."
	case s.prefix != "":
		return strings.TrimSuffix(s.prefix, ".") + "."
	default:
		return jetstream.DefaultAPIPrefix
	}
}
