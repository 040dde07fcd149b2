package ratelimiter

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
)

// BackOffBase and BackOffMax are the shortest and the longest delay between a failure and the next attempt on the
// same object. They apply unless a controller has its own limiter.
const (
	BackOffBase = 1 * time.Second
	BackOffMax  = 60 * time.Second
)

// NewGlobal returns a token bucket that the controllers of a provider share. It lets rps reconciles per second
// through on average, and rps*10 at once. An rps below 1 counts as 1, because an empty bucket that is never filled
// would silently stop the provider.
func NewGlobal(rps int) *workqueue.TypedBucketRateLimiter[any] {
	rps = max(rps, 1)

	return &workqueue.TypedBucketRateLimiter[any]{Limiter: rate.NewLimiter(rate.Limit(rps), rps*10)}
}

// NewController returns the backoff of one controller's queue. An item waits for BackOffBase after its first failure.
// The delay doubles with each further failure, up to BackOffMax.
func NewController() workqueue.TypedRateLimiter[any] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[any](BackOffBase, BackOffMax)
}

// LimitRESTConfig returns a copy of cfg whose clients send at most rps*5 requests per second on average, and rps*10
// at once. The argument rps is the rate of reconciles, each of which sends several requests. An rps below 1 counts as
// 1. cfg is not changed.
func LimitRESTConfig(cfg *rest.Config, rps int) *rest.Config {
	rps = max(rps, 1)
	out := rest.CopyConfig(cfg)
	out.QPS = float32(rps * 5)
	out.Burst = rps * 10
	// It would take the place of both.
	out.RateLimiter = nil

	return out
}
