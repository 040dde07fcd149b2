package recipes

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An EventAPI has a stream of names of changed databases. The channel is closed when the stream ends.
type EventAPI interface {
	Watch(ctx context.Context) (changes <-chan string, err error)
}

// Events is the source for managed.WithExternalEvents.
type Events struct{ API EventAPI }

// Subscribe forwards changed names until stop is called. The context ends with the pass, so the stream needs another.
func (e Events) Subscribe(ctx context.Context, _ resource.Managed, to managed.ExternalNotifications) (func(), error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	changes, err := e.API.Watch(ctx)
	if err != nil {
		cancel()

		return nil, err // it is called again, with backoff
	}
	go e.forward(ctx, changes, to)

	return cancel, nil
}

// forward reports names. When the stream ends, it opens another one, and tries again every 5 s while that fails.
func (e Events) forward(ctx context.Context, changes <-chan string, to managed.ExternalNotifications) {
	for ctx.Err() == nil {
		for name := range changes {
			to.Changed(name)
		}
		to.Interrupted() // objects are polled as usual until the stream is open again
		ended := wait.PollUntilContextCancel(ctx, 5*time.Second, true, func(context.Context) (bool, error) {
			next, err := e.API.Watch(ctx)
			changes = next

			return err == nil, nil
		})
		if ended != nil {
			return
		}
		to.Resumed()
	}
}
