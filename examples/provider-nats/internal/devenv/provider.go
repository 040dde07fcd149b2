package devenv

import (
	"context"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A Provider is the provider, running in this process. Use Env.RunProvider.
type Provider struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// RunProvider starts the provider in this process, as a user with the permissions of its role. Its caller
// calls Stop; another one may run then. That is an orderly end: for the effects of a crash, start the
// provider as a process with ProviderKubeconfig.
func (e *Env) RunProvider(ctx context.Context, o provider.Options, ro ...managed.ReconcilerOption) (*Provider, error) {
	cfg, err := e.ProviderConfig(ctx)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithCancel(ctx)
	p := &Provider{cancel: cancel, done: make(chan struct{})}

	go func() {
		defer close(p.done)

		p.err = provider.Run(ctx, cfg, o, ro...)
	}()

	return p, nil
}

// Done is closed when the provider has ended, by itself or not.
func (p *Provider) Done() <-chan struct{} { return p.done }

// Stop ends the provider and returns when it is gone. The error is why it ended by itself, if it did.
func (p *Provider) Stop() error {
	p.cancel()
	<-p.done

	return p.err
}
