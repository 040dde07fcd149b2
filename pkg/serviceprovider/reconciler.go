package serviceprovider

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/lifecycle"
)

// An APIReconciler reconciles the objects of a service. An APIReconciler implements what all services have in common,
// and calls a Reconciler, which implements the service itself. Build one with NewAPIReconcilerBuilder. An APIReconciler
// is safe for concurrent use with different objects.
type APIReconciler[T API, C Config] struct {
	access     AdvancedProvider
	generators []AdditionalDataGenerator[T]
	newObject  func() T
	onboarding *clusters.Cluster
	platform   *clusters.Cluster
	domain     Reconciler[T, C]
	newConfig  func() C
	configs    ConfigSource[T, C]
	clusterIDs []string
	watches    watchOptions
	deletion   deletionOptions
	annotation string
	logger     logging.Logger
	recorder   event.Recorder
	clock      clock.PassiveClock
	random     func() float64

	cache         client.Reader        // of the manager; nil before the setup
	channelConfig *channelConfig[T, C] // configurations received over the channel
	states        *records.Records[objectState[C]]
	countOutcome  func(outcome string)
}

// watchOptions are the options of the controller and of its sources.
type watchOptions struct {
	controller         controller.Options
	predicates         []predicate.Predicate // of objects; none means the default
	secretNamespace    string                // empty for no source of Secrets
	configMapNamespace string                // empty for no source of ConfigMaps
}

// deletionOptions determine how a deletion continues if something is missing or the object is paused.
type deletionOptions struct {
	onClusterGone DeletionPolicy
	withoutConfig DeletionPolicy
	whenPaused    bool
}

// reader returns the reader of objects. It is the cache of the manager, if there is a manager.
func (r *APIReconciler[T, C]) reader() client.Reader {
	if r.cache != nil {
		return r.cache
	}

	return r.onboarding.Client()
}

// Reconcile runs one pass for an object.
func (r *APIReconciler[T, C]) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reconcileErr error) {
	p := &pass[T, C]{r: r, req: req}
	ctx = redact.Collect(ctx, &p.secrets.concealed)
	if err := p.read(ctx); err != nil {
		return p.report(ctx, outcome{name: "ReadFailed", err: err, keepReady: true})
	}
	for {
		action := lifecycle.Decide(p.facts)
		if over := p.actRecovered(ctx, action); over != nil {
			return p.report(ctx, *over)
		}
	}
}
