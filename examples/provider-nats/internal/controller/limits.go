package controller

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/external/limit"
)

// NewLimits returns limits for calls over connections to NATS, with options that are applied last. A server
// of NATS easily serves the requests of a small cluster, so the initial rate is high. It answers at once or
// not at all, and its client reconnects by itself, so three failures open the breaker, and a retry is
// cheap: after one second first, and every five seconds at most.
func NewLimits(o ...limit.Option) *limit.Set {
	return limit.NewSet(append([]limit.Option{
		limit.WithRate(200, 1, 2000),
		limit.WithBreaker(3, time.Second, 5*time.Second),
	}, o...)...)
}
