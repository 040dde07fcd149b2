package controller

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/external/limit"
)

// NewLimits returns limits for calls over connections to NATS, with options that are
// applied last. A server of NATS does without complaint what a small cluster asks for,
// so that much is allowed to begin with. It answers at once or not at all, and its
// client goes on trying to connect by itself, so that three failures are believed, and
// trying again is cheap: after a second first, and every five seconds at most.
func NewLimits(o ...limit.Option) *limit.Set {
	return limit.NewSet(append([]limit.Option{
		limit.WithRate(200, 1, 2000),
		limit.WithBreaker(3, time.Second, 5*time.Second),
	}, o...)...)
}
