// Package ratelimiter limits the requests of a provider to the API server, and the rate of its reconciles. Begin with
// NewGlobal for a provider and New for a controller. Everything may be used concurrently.
//
// There are two independent limits. NewGlobal returns a token bucket that all controllers of a provider share, and
// Reconciler applies it to one controller. NewController returns the backoff that a queue applies to one object after
// a failure, from 1 to 60 seconds.
//
// An object that fails takes at most one token per reconcile. An object that waits for a token keeps its backoff if
// the limiter of its queue is wrapped by Reconciler.KeepBackOff.
package ratelimiter
