// Package ratelimiter limits the requests of a provider to the API server and the rate of
// its reconciles. Begin with NewGlobal for a provider and New for a controller.
//
// There are two independent limits. Throughput is a token bucket (NewGlobal)
// that all controllers of a provider share; Reconciler applies it to a controller.
// Back-off (NewController) is what a queue applies to one object after a failure,
// 1 to 60 seconds. They are independent: an object that fails takes one token per
// pass at most, and an object that waits for a token keeps its
// back-off if the limiter of its queue went through Reconciler.KeepBackOff.
//
// Everything here may be used concurrently.
package ratelimiter
