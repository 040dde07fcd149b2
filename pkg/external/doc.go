// Package external lets the client of an external system return errors that tell the reconciler more than their text:
//
//   - AlreadyExists: the name is in use.
//   - NotCreated: a create had no effect.
//   - MaybeCreated: a create may have had an effect.
//   - Terminal: a retry is useless until the object changes.
//   - RetryAfter: when to retry.
//   - Throttled: a shared quota is exceeded.
//   - Unauthorized: the system does not accept the credentials.
//   - Unavailable: the system does not work.
//   - NotFound: the resource does not exist.
//   - InProgress: there is no failure, but an operation in progress.
//
// Each function marks an error without a change of its text. A mark is found however often the error is wrapped. An
// error may have several marks. An error without a mark is retried with backoff.
//
// EffectOf derives from an error of a create whether something may have been created, with or without a mark. The
// reaction of the reconciler depends on the class of the controller, see docs/lifecycle.md.
//
// Normalize makes the texts of equal failures equal. AdaptivePoll polls an object less often the longer it does not
// change. The subpackage limit limits the calls over one connection.
//
// All functions may be called concurrently.
package external
