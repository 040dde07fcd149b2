// Package limit holds the calls over one connection to what the external system
// allows. Start with NewSet, which has a Gate per connection; a Gate alone will do
// for a program with one.
//
// Whoever wants to call acquires leave from the Gate and releases it with what
// came of the call:
//
//   - The Gate lets calls through at a rate that it finds by itself: it rises
//     steadily while calls have to wait, and falls by a fifth whenever the system
//     says that it is asked too much (external.Throttled). When the system says for
//     how long it wants to be left alone, it is.
//   - When several wait, users and deletions go first, then what is in progress,
//     then what failed, then polls; but of ten that pass over a lower class, one is
//     of it. Within a class namespaces take turns. A part of what may be called at
//     once is kept for users.
//   - When the system is down (external.Unavailable, or calls that take until their
//     deadline) or does not accept the credentials (external.Unauthorized), nobody
//     gets through. After an interval that grows, one call is let through to see
//     whether it is up again.
//
// Nobody waits for long: who would, is told at once when to come back (IsHeld), so
// that one slow system does not take the workers of all others.
//
// State and metrics are per connection, never per object.
package limit
