package managed

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestOptionsOfAControllerReachItsReconciler verifies that controller options apply to the reconciler unless it has
// its own, and that nothing is logged without a logger.
func TestOptionsOfAControllerReachItsReconciler(t *testing.T) {
	of := fake.GVK(&fake.Managed{})
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(of, &fake.Managed{})
	m := &fake.Manager{Scheme: scheme}
	var lines []string
	log := logging.NewLogrLogger(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	registry := WithMetricsRegisterer(prometheus.NewRegistry())

	r, options := wire(m, resource.ManagedKind(of), controller.Options{
		Logger: log, PollInterval: 7 * time.Minute, MaxConcurrentReconciles: 3,
	}, []ReconcilerOption{registry})
	if r.pollInterval != 7*time.Minute || options.MaxConcurrentReconciles != 3 || options.Reconciler != r ||
		r.pace == nil || r.recorder != r.pace {
		t.Errorf("poll interval %s, %d workers, recorder %T", r.pollInterval, options.MaxConcurrentReconciles,
			r.recorder)
	}
	if want := `"controller"="` + controllerName(resource.ManagedKind(of)) + `"`; len(lines) != 1 ||
		!strings.Contains(lines[0], want) {
		t.Errorf("the log says %q, want %s", lines, want)
	}
	mine := &diary{}
	r, _ = wire(m, resource.ManagedKind(of), controller.Options{PollInterval: 7 * time.Minute},
		[]ReconcilerOption{registry, WithPollInterval(time.Hour), WithRecorder(mine)})
	if r.pollInterval != time.Hour || r.recorder != mine || r.pace == nil {
		t.Errorf("an option of the reconciler does not win: %s, %T", r.pollInterval, r.recorder)
	}
}

// A slowLimit admits no call for an hour.
type slowLimit struct {
	workqueue.TypedRateLimiter[any]
}

func (slowLimit) When(any) time.Duration { return time.Hour }

// TestALimitOfAnotherTypeHoldsUpPasses verifies that a global limiter of any type delays passes and keeps their
// backoff.
func TestALimitOfAnotherTypeHoldsUpPasses(t *testing.T) {
	of := fake.GVK(&fake.Managed{})
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(of, &fake.Managed{})
	_, options := wire(&fake.Manager{Scheme: scheme}, resource.ManagedKind(of),
		controller.Options{GlobalRateLimiter: slowLimit{}},
		[]ReconcilerOption{WithMetricsRegisterer(prometheus.NewRegistry())})
	one := reconcile.Request{NamespacedName: types.NamespacedName{Name: "data"}}
	options.RateLimiter.When(one) // it has failed once
	if result, err := options.Reconciler.Reconcile(t.Context(), one); err != nil || result.RequeueAfter <= 0 {
		t.Errorf("the pass ended with %+v, %v", result, err)
	}
	if options.RateLimiter.Forget(one); options.RateLimiter.NumRequeues(one) != 1 {
		t.Errorf("%d failures are remembered of who was held up after one", options.RateLimiter.NumRequeues(one))
	}
}

// TestAnUnregisteredGatedKind verifies that a kind that is not in the scheme is rejected before anything is added.
func TestAnUnregisteredGatedKind(t *testing.T) {
	of := resource.ManagedKind(fake.GVK(&fake.Managed{}))
	err := SetupGated(&fake.Manager{Scheme: runtime.NewScheme()}, nil, of, controller.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot set up a controller for an unregistered kind: ") {
		t.Errorf("error %v", err)
	}
}
