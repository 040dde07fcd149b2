package chaos

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// Foreign streams in NATS. Objects ask for the first two.
const (
	unowned = "FOREIGN_UNOWNED" // without a stamp
	owned   = "FOREIGN_OWNED"   // with the stamp of an object of another cluster
	private = "FOREIGN_PRIVATE" // that no object asks for
	auditor = "auditor"         // a consumer of it
)

// createForeign creates foreign streams, with messages in them, and returns all assets.
func (w *world) createForeign(ctx context.Context) (map[key]asset, error) {
	for name, metadata := range map[string]map[string]string{
		unowned: nil,
		owned:   {managed.StampKey: "another-cluster/nats.moorage.dev/Stream/default/orders/another-uid"},
		private: {"team": "accounting"},
	} {
		if _, err := w.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{name + ".*"}, Metadata: metadata,
		}); err != nil {
			return nil, errors.Wrapf(err, "cannot create the foreign stream %s", name)
		}

		for range 3 {
			if _, err := w.js.Publish(ctx, name+".x", []byte("do not touch")); err != nil {
				return nil, errors.Wrapf(err, "cannot store a message in the foreign stream %s", name)
			}
		}
	}

	if _, err := w.js.CreateConsumer(ctx, private, jetstream.ConsumerConfig{
		Durable: auditor, AckPolicy: jetstream.AckExplicitPolicy,
	}); err != nil {
		return nil, errors.Wrapf(err, "cannot create the foreign consumer %s", auditor)
	}

	return w.assets(ctx)
}
