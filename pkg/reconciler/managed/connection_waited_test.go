package managed_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestRateLimitDelaysAreCounted verifies that the delay of a poll that the rate limit holds is counted, and the
// delay because of an outage is not.
func TestRateLimitDelaysAreCounted(t *testing.T) {
	const name = "moorage_managed_limit_wait_seconds_total"
	for what, tc := range map[string]struct {
		err     error
		counted bool
	}{
		"throttled":   {external.Throttled("", time.Minute, errors.New("429")), true},
		"unavailable": {external.Unavailable(errors.New("refused")), false},
	} {
		t.Run(what, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			w := newWorld(t, managed.WithMetricsRegisterer(registry))
			w.o = append(w.o, managed.WithLimits(limit.NewSet(limit.WithClock(w.clock),
				limit.WithBreaker(1, time.Minute, time.Minute))))
			w.restart()
			w.create(nil)
			w.pass()
			w.cloud.Before = failing("Observe", tc.err)
			w.pass()
			before := metric(t, registry, name)
			held := w.pass().RequeueAfter
			if got := metric(t, registry, name) - before; (got > 0) != tc.counted {
				t.Errorf("%v s are counted for a call that is held for %v", got, held)
			}
		})
	}
}
