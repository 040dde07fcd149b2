package chaos

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// What strangers have in NATS. There are objects that ask for the first two.
const (
	unowned = "STRANGERS_UNOWNED" // without a stamp
	owned   = "STRANGERS_OWNED"   // with that of an object of another cluster
	private = "STRANGERS_PRIVATE" // that nobody asks for
	auditor = "auditor"           // a consumer of it
)

// strangers puts something of others into NATS, with messages in it, and returns
// what it looks like.
func (w *world) strangers(ctx context.Context) (map[key]asset, error) {
	for name, metadata := range map[string]map[string]string{
		unowned: nil,
		owned:   {managed.StampKey: "another-cluster/nats.moorage.dev/Stream/default/orders/another-uid"},
		private: {"team": "accounting"},
	} {
		if _, err := w.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}, Metadata: metadata}); err != nil {
			return nil, errors.Wrapf(err, "cannot make stream %s of a stranger", name)
		}

		for range 3 {
			if _, err := w.js.Publish(ctx, name+".x", []byte("do not touch")); err != nil {
				return nil, errors.Wrapf(err, "cannot store a message in stream %s of a stranger", name)
			}
		}
	}

	if _, err := w.js.CreateConsumer(ctx, private, jetstream.ConsumerConfig{Durable: auditor, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		return nil, errors.Wrapf(err, "cannot make consumer %s of a stranger", auditor)
	}

	return w.assets(ctx)
}
