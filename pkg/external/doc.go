// Package external lets the client of an external system say more about a
// failure than its text: that the name is in use (AlreadyExists), that a create
// had no effect (NotCreated) or may have had one (MaybeCreated), that a retry is useless
// until the object changes (Terminal), when to retry (RetryAfter), that a shared quota is
// exceeded (Throttled), that the credentials are not accepted (Unauthorized), that the
// system does not work (Unavailable), that the resource does not exist (NotFound), or that
// there is no failure, but an operation in progress (InProgress).
//
// Each function marks an error without changing its text, and each mark is found however
// often the error is wrapped. Marks do not exclude
// each other. An error without any mark is retried with backoff. EffectOf reads
// from an error of a create whether something may have been created, also without a
// mark; what the reconciler makes of that depends on the class of the controller,
// see docs/lifecycle.md.
//
// Normalize makes the texts of equal failures equal. AdaptivePoll observes an object less
// often the longer it does not change. Package limit, below this one, limits the calls over
// one connection.
//
// All functions may be called concurrently.
package external
