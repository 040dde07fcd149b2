// Package limit limits the rate of calls to an external system, per connection, and
// stops them while the system is down. Start with NewSet, which has a Gate per
// connection. A program with one connection can use a Gate alone.
//
// Before each call the caller acquires permission from the Gate, and afterwards
// releases it with the error of the call:
//
//   - The Gate adapts its rate: additive increase while calls have to wait, and a
//     decrease by a fifth when the system throttles (external.Throttled). If the
//     system returns a Retry-After, no call is let through before it ends.
//   - Waiting calls are served by priority: users and deletions, then operations in
//     progress, then retries, then polls. One of every ten calls goes to a lower
//     priority, so that none starves. Within a priority namespaces take turns. Part
//     of each burst is reserved for users.
//   - When the system is down (external.Unavailable, or calls that run into their
//     deadline) or rejects the credentials (external.Unauthorized), a circuit breaker
//     holds all calls. After an interval that grows exponentially, one call is let
//     through as a probe.
//
// A call that would have to wait for long is not made: Acquire returns at once an
// error (IsHeld) that says when to retry. So one slow system does not occupy the
// workers that serve the others.
//
// State and metrics are per connection, never per object.
package limit
