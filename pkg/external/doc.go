// Package external lets the client of an external system say more about a
// failure than its text: that the name is taken already (AlreadyExists), that a
// create had no effect (NotCreated) or may have had one (MaybeCreated), that
// trying again is of no use until the object changes (Terminal), when to try again (RetryAfter), that all who
// share a quota asked for too much (Throttled), that the credentials are not
// accepted (Unauthorized), that the system does not work (Unavailable), that the
// resource does not exist (NotFound), or that there is no failure, but work that
// goes on (InProgress).
//
// Each function marks an error without changing its text, and each mark is found
// again however often the error has been wrapped since. Marks do not exclude
// each other. An error without any mark is retried with backoff. EffectOf reads
// from an error of a create whether something may have been created, also without a
// mark; what the reconciler makes of that depends on the class of the controller,
// see docs/lifecycle.md.
//
// Normalize makes the texts of equal failures equal. AdaptivePoll looks less often
// at what does not change. Package limit, below this one, holds the calls over one
// connection to what the system allows.
//
// All functions may be called concurrently.
package external
