package serviceprovider

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/passage"
)

// An APIReconciler reconciles the objects of a service: the platform's part of it is
// here, the service's part in a Reconciler. Make one with NewAPIReconcilerBuilder. It
// may be used concurrently for different objects.
type APIReconciler[T API, C Config] struct {
	access             AdvancedProvider
	generators         []AdditionalDataGenerator[T]
	empty              func() T
	onboarding         *clusters.Cluster
	platform           *clusters.Cluster
	domain             Reconciler[T, C]
	initial            C
	hasInitial         bool
	emptyConfig        func() C
	configs            ConfigSource[T, C]
	secretNamespace    string
	configMapNamespace string
	workload           bool
	others             []string
	clusterIDs         []string
	options            controller.Options
	predicates         []predicate.Predicate
	onGone             DeletionPolicy
	withoutConfig      DeletionPolicy
	annotation         string
	deletePaused       bool
	logger             logging.Logger
	recorder           event.Recorder
	clock              clock.PassiveClock
	random             func() float64

	cached client.Reader     // of the manager, once there is one
	sent   *remembered[T, C] // what came over the channel
	memory *memory[C]
	count  func(outcome string)
}

// Reader returns what objects are read from: the cache of the manager, if there is one.
func (r *APIReconciler[T, C]) reader() client.Reader {
	if r.cached != nil {
		return r.cached
	}

	return r.onboarding.Client()
}

// Reconcile does one pass over an object.
func (r *APIReconciler[T, C]) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reconcileErr error) {
	p := &pass[T, C]{r: r, req: req}
	ctx = redact.Collect(ctx, &p.secrets.told)
	if err := p.read(ctx); err != nil {
		return p.report(ctx, outcome{name: "ReadFailed", err: err, silent: true})
	}
	for {
		action := passage.Decide(p.facts)
		if over := p.attempt(ctx, action); over != nil {
			return p.report(ctx, *over)
		}
	}
}
