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

// An Option of Setup.
type Option func(*options)

type options struct {
	logger   logging.Logger
	recorder event.Recorder
	clock    clock.PassiveClock
	interval time.Duration
	gate     *crdgate.Gate
	limits   *limit.Set
	retired  []string
}

// WithLogger says where is told what happens. By default that is nowhere.
func WithLogger(l logging.Logger) Option { return func(o *options) { o.logger = l } }

// WithRecorder records the event that a deletion waits. By default it goes to a
// recorder of the manager.
func WithRecorder(r event.Recorder) Option { return func(o *options) { o.recorder = r } }

// WithClock tells the time. By default that is the machine's.
func WithClock(c clock.PassiveClock) Option { return func(o *options) { o.clock = c } }

// WithCountInterval is the least time between two writes of the number of users of
// one configuration. By default, and if it is not positive, that is five seconds.
func WithCountInterval(d time.Duration) Option {
	return func(o *options) {
		if d > 0 {
			o.interval = d
		}
	}
}

// WithGate lets kinds come and go: configurations are kept, and users counted, while
// their kinds are served. Users of a kind that is known not to be served are none. By
// default all kinds have to be served when the manager starts. The gate has to be
// one of the same manager, and added to it.
func WithGate(g *crdgate.Gate) Option { return func(o *options) { o.gate = g } }

// Setup adds to a manager what keeps the configurations of a provider while they are
// in use, and counts their users: objects of the kinds that the users are given of,
// each by an empty object. It sends nothing while nothing changes; a number of users
// that changes is written once in five seconds at most.
//
// It returns an error if a kind or its list is not registered in the scheme of the
// manager.
func Setup(m manager.Manager, kinds Kinds, users []User, o ...Option) error {
	chosen := options{logger: logging.NewNopLogger(), clock: clock.RealClock{}, interval: 5 * time.Second}
	for _, set := range o {
		set(&chosen)
	}
	f, err := newFamily(kinds, m.GetClient())
	if err != nil {
		return err
	}
	t := newTracker(f, m.GetCache(), m.GetScheme(), unservedBy(chosen.gate))
	if err := t.add(m, users, chosen.gate); err != nil {
		return err
	}
	for _, kind := range f {
		if err := add(m, kind, t, chosen); err != nil {
			return errors.Wrapf(err, "cannot set up a controller for %s", kind.gvk.Kind)
		}
	}

	return nil
}

// unservedBy returns what reports whether a kind is known not to be served: none is without a gate.
func unservedBy(gate *crdgate.Gate) func(schema.GroupVersionKind) bool {
	if gate != nil {
		return gate.Absent
	}

	return func(schema.GroupVersionKind) bool { return false }
}

// add lets a manager, or the gate, follow the users.
func (t *tracker) add(m manager.Manager, users []User, gate *crdgate.Gate) error {
	for _, of := range users {
		gvk, err := m.GetClient().GroupVersionKindFor(of)
		if err != nil {
			return errors.Wrap(err, "cannot tell a kind of users")
		}
		if _, err := newList(m.GetScheme(), gvk); err != nil {
			return err
		}
		t.complete(gvk, false)
		follow := func(ctx context.Context) error { return t.follow(ctx, gvk, of) }
		if gate != nil {
			gate.Add([]schema.GroupVersionKind{gvk}, follow)

			continue
		}
		if err := m.Add(always{follow}); err != nil {
			return errors.Wrapf(err, "cannot follow users of the kind %s", gvk.Kind)
		}
	}

	return nil
}

// Always is a runnable that does not wait for leadership, so that a standby knows.
type always struct{ manager.RunnableFunc }

// NeedLeaderElection reports that it does not.
func (always) NeedLeaderElection() bool { return false }

// add lets a manager, or the gate, run the controller of a kind of configuration.
func add(m manager.Manager, kind *form, t *tracker, chosen options) error {
	name := "providerconfig/" + strings.ToLower(kind.gvk.GroupKind().String())
	r := &reconciler{
		kind: kind, client: m.GetClient(), live: m.GetAPIReader(), finalizer: resource.NewAPIFinalizer(m.GetClient(), FinalizerName),
		tracker: t, memory: records.New[record](nil), logger: chosen.logger.WithValues("controller", name),
		recorder: chosen.recorder, clock: chosen.clock, interval: chosen.interval, limits: chosen.limits,
	}
	r.retires(m.GetClient(), chosen.retired)
	if r.recorder == nil {
		r.recorder = event.NewRecorder(m.GetEventRecorder(name))
	}
	sources := func(c cache.Cache) []source.Source {
		return []source.Source{
			t.source(kind.gvk.Kind),
			r.connections(),
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

func controllerOptions(r *reconciler) controller.Options {
	return controller.Options{
		Reconciler: r,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			ratelimiter.BackOffBase, ratelimiter.BackOffMax),
	}
}
