package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestPassesThatStopAreCountedByTheirCause verifies that a pass that ends without a decision is counted under its
// own name, so that dashboards distinguish a conflict from a lost lease.
func TestPassesThatStopAreCountedByTheirCause(t *testing.T) {
	cases := map[string]struct {
		options []managed.ReconcilerOption
		arrange func(w *world) (ctx context.Context)
	}{
		"conflict": {arrange: func(w *world) context.Context {
			w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
			w.answer = func(context.Context, string) error { return conflict() }

			return w.Context()
		}},
		"interrupted": {arrange: func(w *world) context.Context {
			ctx, stop := context.WithCancel(w.Context())
			stop()

			return ctx
		}},
		"awaiting-cause": {arrange: func(w *world) context.Context {
			w.wrap((&connected{connection: managed.Connection{Name: "ProviderConfig/default/prod",
				Revision: "1"}}).wrap)
			w.cloud.Before = failing("Observe", external.Terminal("Quota", errors.New("no more")))
			w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter))

			return w.Context()
		}},
		"postponed": {options: []managed.ReconcilerOption{managed.WithSpreadAfterRestart(true)},
			arrange: func(w *world) context.Context {
				w.restart()

				return w.Context()
			}},
		"not counted yet": {arrange: func(w *world) context.Context { return w.Context() }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			w := newWorld(t, append([]managed.ReconcilerOption{managed.WithMetricsRegisterer(registry),
				managed.WithCreationGracePeriod(0)}, tc.options...)...)
			w.create(nil)
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			ctx := tc.arrange(w)
			counted := func() float64 { return metric(t, registry, "moorage_managed_passes_total outcome="+name) }
			before, all := counted(), metric(t, registry, "moorage_managed_passes_total")
			_, _ = w.r.Reconcile(ctx, request())
			want := 1.0
			if name == "not counted yet" {
				want = 0
			}
			if got := counted() - before; got != want || metric(t, registry, "moorage_managed_passes_total")-all != 1 {
				t.Errorf("%v passes are counted as %s, want %v", got, name, want)
			}
		})
	}
}
