package external

import (
	"context"

	"github.com/moorage-dev/moorage/internal/redact"
)

// Conceal registers the secrets of a client with the reconciler. The reconciler then masks them, in any usual
// encoding, in every error, event, condition, change log entry and span until the end of the pass. Secrets of less
// than six characters are not masked.
//
// Call Conceal in Connect with its context, also when the connection comes from a cache. Alternatively the Resolver
// of a connection.Cache calls it with its own context. Then each pass that uses the connection masks the secrets.
// Credentials that were read with package credentials or resource.GetSecret are masked without a call of Conceal.
//
// If ctx is not the context of a reconciler or a Resolver, Conceal does nothing.
func Conceal(ctx context.Context, secrets ...[]byte) { redact.Conceal(ctx, secrets...) }
