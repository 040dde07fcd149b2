package connect

import (
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A Cache keeps connections. Every clusters.Cache is one. If it also says which of them were
// replaced because an API server was restored (clusters.Notifier, and the method Restored of a
// clusters.Cache), an event on the Cluster tells that.
type Cache interface {
	// Set says how a cluster is reached, from now on.
	Set(key clusters.Key, in clusters.Input) bool
	// Fail says why it cannot be reached.
	Fail(key clusters.Key, err error)
	// Drop forgets it.
	Drop(key clusters.Key)
	// Report says how a try to reach it ended.
	Report(key clusters.Key, err error) clusters.Health
}

// An Option of Setup.
type Option func(*options)

type options struct {
	logger   logging.Logger
	recorder event.Recorder
	clock    clock.PassiveClock
	recheck  time.Duration
	probe    time.Duration
	file     string
}

// WithLogger says where is told what happens. By default that is nowhere.
func WithLogger(l logging.Logger) Option { return func(o *options) { o.logger = l } }

// WithRecorder records when a connection was made or lost. By default that goes to a
// recorder of the manager.
func WithRecorder(r event.Recorder) Option { return func(o *options) { o.recorder = r } }

// WithClock tells the time. By default that is the machine's.
func WithClock(c clock.PassiveClock) Option { return func(o *options) { o.clock = c } }

// WithRecheckInterval is how long the Secret of a cluster is trusted before it is read
// again, by default a minute. Anything not positive is ignored.
func WithRecheckInterval(d time.Duration) Option {
	return func(o *options) {
		if d > 0 {
			o.recheck = d
		}
	}
}

// WithProbeInterval is how often a cluster is asked whether it is well, by default
// every 15 seconds. Anything not positive is ignored.
func WithProbeInterval(d time.Duration) Option {
	return func(o *options) {
		if d > 0 {
			o.probe = d
		}
	}
}

// WithKubeconfigFile allows clusters that name only a context: one of this file. It is
// the program's own, but it is held to the rules for all others. The default is not to.
func WithKubeconfigFile(path string) Option { return func(o *options) { o.file = path } }

// Setup adds to a manager what connects the clusters that its Cluster objects describe,
// and keeps the connections in the cache. The scheme of the manager has to know them
// (clustersv1alpha1.AddToScheme). It returns an error if the controller cannot be made.
func Setup(m manager.Manager, cache Cache, o ...Option) error {
	chosen := options{logger: logging.NewNopLogger(), clock: clock.RealClock{}, recheck: time.Minute, probe: 15 * time.Second}
	for _, set := range o {
		set(&chosen)
	}
	if chosen.recorder == nil {
		chosen.recorder = event.NewRecorder(m.GetEventRecorder("clusters"))
	}
	r := newReconciler(m.GetClient(), m.GetAPIReader(), cache, chosen)
	err := builder.ControllerManagedBy(m).Named("clusters").For(&clustersv1alpha1.Cluster{}).WatchesRawSource(r.refused.source()).WatchesRawSource(r.restores()).
		WithOptions(controller.Options{NeedLeaderElection: new(false), MaxConcurrentReconciles: 4}).Complete(r)

	return errors.Wrap(err, "cannot set up the controller of clusters")
}
