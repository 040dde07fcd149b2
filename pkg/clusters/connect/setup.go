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

// A Cache stores connections, as a clusters.Cache does. If the Cache also implements clusters.Notifier and the method
// Restored of clusters.Cache, the controller also records an event on a Cluster whose API server was restored.
type Cache interface {
	// Set sets the input of the connection to a cluster.
	Set(key clusters.Key, in clusters.Input) bool
	// Fail records the reason why a cluster cannot be reached.
	Fail(key clusters.Key, err error)
	// Drop removes a cluster.
	Drop(key clusters.Key)
	// Report records the result of an attempt to reach a cluster.
	Report(key clusters.Key, err error) clusters.Health
}

// An Option configures Setup.
type Option func(*options)

type options struct {
	logger          logging.Logger
	recorder        event.Recorder
	clock           clock.PassiveClock
	recheckInterval time.Duration
	probeInterval   time.Duration
	kubeconfigFile  string
}

// WithLogger sets the logger. By default nothing is logged.
func WithLogger(l logging.Logger) Option { return func(o *options) { o.logger = l } }

// WithRecorder sets the recorder of events about made and lost connections. The default is the event recorder of the
// manager.
func WithRecorder(r event.Recorder) Option { return func(o *options) { o.recorder = r } }

// WithClock sets the clock. The default is the real clock.
func WithClock(c clock.PassiveClock) Option { return func(o *options) { o.clock = c } }

// WithRecheckInterval sets the interval at which the controller reads the Secret of a cluster. The default is one
// minute. A value that is not positive is ignored.
func WithRecheckInterval(d time.Duration) Option {
	return func(o *options) {
		if d > 0 {
			o.recheckInterval = d
		}
	}
}

// WithProbeInterval sets the interval at which the controller checks the health of a cluster. The default is 15
// seconds. A value that is not positive is ignored.
func WithProbeInterval(d time.Duration) Option {
	return func(o *options) {
		if d > 0 {
			o.probeInterval = d
		}
	}
}

// WithKubeconfigFile allows Clusters that name only a context. This context is read from the file. Although the file
// belongs to the program, ParseKubeconfig refuses the same fields in the file as in other kubeconfigs. By default such
// Clusters are refused.
func WithKubeconfigFile(path string) Option { return func(o *options) { o.kubeconfigFile = path } }

// Setup adds a controller to a manager. The controller makes a connection for each Cluster object, and stores it in the
// cache. The scheme of the manager must contain Cluster (clustersv1alpha1.AddToScheme). Setup returns an error if the
// controller cannot be created.
func Setup(m manager.Manager, cache Cache, o ...Option) error {
	chosen := options{
		logger: logging.NewNopLogger(), clock: clock.RealClock{}, recheckInterval: time.Minute,
		probeInterval: 15 * time.Second,
	}
	for _, set := range o {
		set(&chosen)
	}
	if chosen.recorder == nil {
		chosen.recorder = event.NewRecorder(m.GetEventRecorder("clusters"))
	}
	r := newReconciler(m.GetClient(), m.GetAPIReader(), cache, chosen)
	err := builder.ControllerManagedBy(m).Named("clusters").For(
		&clustersv1alpha1.Cluster{}).WatchesRawSource(r.unauthorized.source()).WatchesRawSource(r.restoreSource()).
		WithOptions(controller.Options{NeedLeaderElection: new(false), MaxConcurrentReconciles: 4}).Complete(r)

	return errors.Wrap(err, "cannot set up the controller of clusters")
}
