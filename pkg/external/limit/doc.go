// Package limit limits the rate of calls to an external system, per connection, and stops the calls while the system
// is down. Start with NewSet, which has a Gate for each connection. A program with one connection can use a Gate
// alone.
//
// Before each call the caller acquires permission from the Gate. After the call it releases the permission with the
// error of the call:
//
//   - The Gate adapts its rate. It increases the rate additively while calls have to wait. It decreases the rate by a
//     fifth when the system throttles (external.Throttled). If the system requests a delay by Retry-After, the Gate
//     lets no call through during the delay.
//   - The Gate serves waiting calls by priority: users and deletions, then operations in progress, then retries, then
//     polls. One of every ten calls goes to a lower priority, so that no priority starves. Namespaces take turns within
//     a priority. A part of each burst is reserved for users.
//   - A circuit breaker holds all calls when the system rejects the credentials (external.Unauthorized) or is down.
//     The system is down if calls return external.Unavailable or exceed their deadline. After an interval that grows
//     exponentially, the Gate lets one call through as a probe.
//
// If a call would have to wait for long, Acquire returns an error at once. IsHeld is true for this error, and
// external.AsRetryAfter returns the delay until the retry. So a slow system does not occupy the workers that serve
// other systems.
//
// State and metrics are per connection, never per object.
package limit
