// Package ratelimiter bounds how much a provider asks of the API server and how
// often its controllers work.
//
// There are two independent limits. Throughput is a token bucket (NewGlobal)
// that all controllers of a provider share; Reconciler holds a controller to it.
// Back-off (NewController) is what a queue applies to one object after a failure,
// 1 to 60 seconds. Neither charges for the other: an object that fails takes no
// more than one token per pass, and an object that waits for a token keeps its
// back-off if the limiter of its queue went through Reconciler.KeepBackOff.
//
// Everything here may be used concurrently.
package ratelimiter
