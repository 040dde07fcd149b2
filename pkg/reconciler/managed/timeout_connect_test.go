package managed_test

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A keeper is a client that makes its calls with the context that it was connected with.
type keeper struct {
	managed.ExternalClient

	ctx   context.Context //nolint:containedctx // what such clients do
	ended map[string]bool // whether it had, by the call
	last  *context.Context
}

func (k keeper) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	k.ended["observe"] = k.ctx.Err() != nil

	return k.ExternalClient.Observe(ctx, mg)
}

func (k keeper) Disconnect(ctx context.Context) error {
	k.ended["disconnect"], *k.last = k.ctx.Err() != nil, ctx

	return nil
}

// TestTheContextOfConnectEndsWithThePass verifies that the context of Connect lasts until Disconnect has returned.
func TestTheContextOfConnectEndsWithThePass(t *testing.T) {
	ended := map[string]bool{}
	var connected, last context.Context
	w := newWorld(t)
	w.o = append(w.o, managed.WithExternalConnecter(managed.ExternalConnectorFn(
		func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
			connected = ctx
			c, err := w.cloud.Connect(ctx, mg)

			return keeper{c, ctx, ended, &last}, err
		})))
	w.restart()
	w.create(nil)
	w.pass()
	if len(ended) != 2 || ended["observe"] || ended["disconnect"] {
		t.Errorf("ended before the call: %v", ended)
	}
	if connected.Err() == nil || last.Err() == nil {
		t.Errorf("after the pass the context of Connect has ended with %v, that of Disconnect with %v",
			connected.Err(), last.Err())
	}
}
