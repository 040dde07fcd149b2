package controller

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A target is what one object is about.
type target struct {
	asset

	// label names it for people, with what it is.
	label string

	// recorded is where the object's status keeps when it was created.
	recorded *string

	// listed returns what a list has shown. It is nil if the kind is not listed.
	listed func(info *jetstream.StreamInfo) *sight
}

// An asset is a stream or a consumer in NATS, whether it exists or not.
type asset interface {
	// look returns nil if NATS says that it does not exist. The error is
	// jetstream.ErrStreamNotFound if not even that exists which it is to be a
	// part of.
	look(ctx context.Context) (*sight, error)

	// create creates it with own as a part of its metadata.
	create(ctx context.Context, own map[string]string) error

	// remove deletes it. That it does not exist is no error.
	remove(ctx context.Context) error
}

// A sight is an asset as it was seen.
type sight struct {
	metadata map[string]string
	created  time.Time
	cluster  *jetstream.ClusterInfo

	// report puts what was seen into the object's status.
	report func()

	// details are what an application needs to know, besides where NATS is.
	details func() map[string]string

	// plan says what the object asks for, with own as a part of its metadata.
	plan func(own map[string]string) (*plan, error)
}

// A plan is what an asset should become.
type plan struct {
	// diff tells what differs now, refused which of that NATS does not change.
	diff    func() (jsconfig.Differences, error)
	refused func() []jsconfig.Refusal

	// send asks NATS for it.
	send func(ctx context.Context) error
}

// errInvalid marks that an object asks for what NATS could not even be told.
func errInvalid(err error) error {
	return external.Terminal(reasonInvalidConfiguration, err)
}
