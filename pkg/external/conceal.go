package external

import (
	"context"

	"github.com/moorage-dev/moorage/internal/redact"
)

// Conceal registers the secrets of a client with the reconciler. Call it in Connect, also
// when the connection comes from a cache, with the context of Connect: until the end of the
// pass the secrets are masked in every error, event, condition, change log and span of the
// reconciler, in any usual form. Secrets of less than six characters are not masked. The
// Resolver of a connection.Cache may call it instead, with its own context: then they are
// masked in each pass that uses the connection. Credentials that were read by package
// credentials or by resource.GetSecret are concealed already. Without a reconciler in ctx it
// does nothing.
func Conceal(ctx context.Context, secrets ...[]byte) { redact.Conceal(ctx, secrets...) }
