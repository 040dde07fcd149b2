package pgtest

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Publishing connecter has clients that write connection details to Secrets as soon as they observe them. The
// conformance kit calls clients without a reconciler, too, which would publish the details before it calls Update.
type Publishing struct {
	managed.ExternalConnecter
	Secrets *Secrets
}

// Connect returns a client that publishes.
func (p Publishing) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	client, err := p.ExternalConnecter.Connect(ctx, mg)
	if err != nil {
		return nil, err
	}

	return publisher{client, p.Secrets}, nil
}

type publisher struct {
	managed.ExternalClient
	secrets *Secrets
}

// Unwrap returns the client without the publisher.
func (p publisher) Unwrap() any { return p.ExternalClient }

// Observe observes, and publishes what is observed.
func (p publisher) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	out, err := p.ExternalClient.Observe(ctx, mg)
	if err != nil || len(out.ConnectionDetails) == 0 {
		return out, err
	}
	_, err = p.secrets.PublishConnection(ctx, mg, out.ConnectionDetails)

	return out, errors.Wrap(err, "cannot publish")
}
