package ratelimiter

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
)

// BackOffBase and BackOffMax are the shortest and the longest delay between a
// failure and the next attempt on the same object, unless a controller is given
// a limiter of its own.
const (
	BackOffBase = 1 * time.Second
	BackOffMax  = 60 * time.Second
)

// NewGlobal returns a token bucket, to be shared by the controllers of a
// provider, that lets rps passes through per second on average and rps*10 at
// once. An rps below 1 counts as 1, because a bucket that is never filled would
// stop the provider without a word.
func NewGlobal(rps int) *workqueue.TypedBucketRateLimiter[any] {
	rps = max(rps, 1)

	return &workqueue.TypedBucketRateLimiter[any]{Limiter: rate.NewLimiter(rate.Limit(rps), rps*10)}
}

// NewController returns the back-off of one controller's queue: an item waits
// BackOffBase after its first failure, and twice as long after each further one,
// up to BackOffMax.
func NewController() workqueue.TypedRateLimiter[any] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[any](BackOffBase, BackOffMax)
}

// LimitRESTConfig returns a copy of cfg whose clients send at most rps*5 requests
// per second on average and rps*10 at once: several, because a pass of rps passes
// per second sends several. An rps below 1 counts as 1. cfg is not changed.
func LimitRESTConfig(cfg *rest.Config, rps int) *rest.Config {
	rps = max(rps, 1)
	out := rest.CopyConfig(cfg)
	out.QPS = float32(rps * 5)
	out.Burst = rps * 10
	// It would take the place of both.
	out.RateLimiter = nil

	return out
}
