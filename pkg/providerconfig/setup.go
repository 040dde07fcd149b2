package providerconfig

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Option changes the behavior of Setup.
type Option func(*options)

// options holds the options of Setup.
type options struct {
	logger   logging.Logger
	recorder event.Recorder
	clock    clock.PassiveClock
	interval time.Duration
	gate     *crdgate.Gate
	limits   *limit.Set
	retired  []string
}

// WithLogger sets the logger. By default nothing is logged.
func WithLogger(l logging.Logger) Option { return func(o *options) { o.logger = l } }

// WithRecorder sets the recorder of events. The default is the event recorder of the manager.
func WithRecorder(r event.Recorder) Option { return func(o *options) { o.recorder = r } }

// WithClock sets the clock. The default is the system clock.
func WithClock(c clock.PassiveClock) Option { return func(o *options) { o.clock = c } }

// WithCountInterval sets the minimum time between two writes of the number of users of a configuration. The default is
// five seconds. A value that is not positive is ignored.
func WithCountInterval(d time.Duration) Option {
	return func(o *options) {
		if d > 0 {
			o.interval = d
		}
	}
}

// WithGate lets CRDs be installed and removed while the provider runs. While the CRDs of configurations and users are
// served, configurations are protected and users are counted. A kind that is known not to be served has no users. By
// default all kinds have to be served when the manager starts. The gate must use the same manager, and must be added to
// it.
func WithGate(g *crdgate.Gate) Option { return func(o *options) { o.gate = g } }

// Setup adds a controller for each kind of configuration to a manager. The controller protects configurations while
// they are in use, and counts their users. Each element of the argument users is an empty object of a kind whose
// objects may refer to a configuration. The controller sends no request while nothing changes. By default it writes a
// changed number of users at most once in five seconds: see WithCountInterval.
//
// Setup returns an error if a kind or its list is not registered in the scheme of the manager.
func Setup(m manager.Manager, kinds Kinds, users []User, o ...Option) error {
	chosen := options{logger: logging.NewNopLogger(), clock: clock.RealClock{}, interval: 5 * time.Second}
	for _, set := range o {
		set(&chosen)
	}
	configs, err := newConfigKinds(kinds, m.GetClient())
	if err != nil {
		return err
	}
	t := newTracker(configs, m.GetCache(), m.GetScheme(), unservedBy(chosen.gate))
	if err := t.add(m, users, chosen.gate); err != nil {
		return err
	}
	for _, kind := range configs {
		if err := add(m, kind, t, chosen); err != nil {
			return errors.Wrapf(err, "cannot set up a controller for %s", kind.gvk.Kind)
		}
	}

	return nil
}

// unservedBy returns a function that reports whether a kind is known not to be served. Without a gate the function
// returns false for all kinds.
func unservedBy(gate *crdgate.Gate) func(schema.GroupVersionKind) bool {
	if gate != nil {
		return gate.Absent
	}

	return func(schema.GroupVersionKind) bool { return false }
}

// add adds a watch of each kind of users to the manager, or to the gate if there is one.
func (t *tracker) add(m manager.Manager, users []User, gate *crdgate.Gate) error {
	for _, of := range users {
		gvk, err := m.GetClient().GroupVersionKindFor(of)
		if err != nil {
			return errors.Wrap(err, "cannot determine the kind of a user")
		}
		if _, err := newList(m.GetScheme(), gvk); err != nil {
			return err
		}
		t.setSynced(gvk, false)
		watch := func(ctx context.Context) error { return t.watchUsers(ctx, gvk, of) }
		if gate != nil {
			gate.Add([]schema.GroupVersionKind{gvk}, watch)

			continue
		}
		if err := m.Add(withoutLeaderElection{watch}); err != nil {
			return errors.Wrapf(err, "cannot watch the users of kind %s", gvk.Kind)
		}
	}

	return nil
}

// A withoutLeaderElection is a runnable that does not wait for leadership, so that the index of a standby replica is up
// to date.
type withoutLeaderElection struct{ manager.RunnableFunc }

// NeedLeaderElection returns false.
func (withoutLeaderElection) NeedLeaderElection() bool { return false }

// add adds the controller of a kind of configuration to the manager, or to the gate if there is one.
func add(m manager.Manager, kind *kindInfo, t *tracker, chosen options) error {
	name := "providerconfig/" + strings.ToLower(kind.gvk.GroupKind().String())
	r := &reconciler{
		kind: kind, client: m.GetClient(), apiReader: m.GetAPIReader(), finalizer: resource.NewAPIFinalizer(
			m.GetClient(), FinalizerName),
		tracker: t, records: records.New[record](nil), logger: chosen.logger.WithValues("controller", name),
		recorder: chosen.recorder, clock: chosen.clock, interval: chosen.interval, limits: chosen.limits,
	}
	r.setRetiredFinalizers(m.GetClient(), chosen.retired)
	if r.recorder == nil {
		r.recorder = event.NewRecorder(m.GetEventRecorder(name))
	}
	sources := func(c cache.Cache) []source.Source {
		return []source.Source{
			t.source(kind.gvk.Kind),
			r.connectionSource(),
			source.Kind(c, client.Object(kind.empty), &handler.EnqueueRequestForObject{}),
		}
	}
	if chosen.gate != nil {
		chosen.gate.Add([]schema.GroupVersionKind{kind.gvk}, func(ctx context.Context) error {
			return crdgate.RunController(ctx, m, name, controllerOptions(r), sources)
		})

		return nil
	}
	c, err := controller.New(name, m, controllerOptions(r))
	if err != nil {
		return err
	}
	for _, s := range sources(m.GetCache()) {
		if err := c.Watch(s); err != nil {
			return err
		}
	}

	return nil
}

// controllerOptions returns the options of the controller that runs r.
func controllerOptions(r *reconciler) controller.Options {
	return controller.Options{
		Reconciler: r,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			ratelimiter.BackOffBase, ratelimiter.BackOffMax),
	}
}
