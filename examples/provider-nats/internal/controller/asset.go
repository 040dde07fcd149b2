package controller

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A target is the external resource of one object.
type target struct {
	asset

	// label names it in messages, with its kind.
	label string

	// recorded points to the creation time in the object's status.
	recorded *string

	// listed converts an item of a list. It is nil if the kind is not listed.
	listed func(info *jetstream.StreamInfo) *sight
}

// An asset is a stream or a consumer in NATS, whether it exists or not.
type asset interface {
	// look returns nil if NATS says that it does not exist. The error is jetstream.ErrStreamNotFound if the
	// stream that it would be a part of does not exist either.
	look(ctx context.Context) (*sight, error)

	// create creates it with own as a part of its metadata.
	create(ctx context.Context, own map[string]string) error

	// remove deletes it. That it does not exist is no error.
	remove(ctx context.Context) error
}

// A sight is an asset as it was observed.
type sight struct {
	metadata map[string]string
	created  time.Time
	cluster  *jetstream.ClusterInfo

	// report writes the observation into the object's status.
	report func()

	// details are the connection details besides the address of NATS.
	details func() map[string]string

	// plan computes the desired state, with own as a part of its metadata.
	plan func(own map[string]string) (*plan, error)
}

// A plan is the desired state of an asset.
type plan struct {
	// diff returns the differences from the observed state, refused those of them that NATS does not change.
	diff    func() (jsconfig.Differences, error)
	refused func() []jsconfig.Refusal

	// send asks NATS for it.
	send func(ctx context.Context) error
}

// errInvalid marks a spec that cannot be sent to NATS at all.
func errInvalid(err error) error {
	return external.Terminal(reasonInvalidConfiguration, err)
}
