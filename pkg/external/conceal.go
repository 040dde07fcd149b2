package external

import (
	"context"

	"github.com/moorage-dev/moorage/internal/redact"
)

// Conceal tells the reconciler which secrets a client works with. Call it in
// Connect, also when the connection comes from a cache, with the context that
// Connect was given: until the pass is over they are masked in every error,
// event, condition, change log and span that the reconciler makes, in any usual
// form they appear there. Secrets of less than six characters are not masked.
// The Resolver of a connection.Cache may call it instead, with its own context: each
// pass that is given the connection knows them then.
// Credentials that were read by package credentials or by resource.GetSecret are
// concealed already. Without a reconciler behind ctx it does nothing.
func Conceal(ctx context.Context, secrets ...[]byte) { redact.Conceal(ctx, secrets...) }
