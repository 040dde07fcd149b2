package crdgate

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A StartFunc runs until its context ends. The context ends when a kind on which the function depends is no longer
// served, or when the gate stops. The function must return only after everything that it has started has ended.
type StartFunc func(ctx context.Context) error

// A Gate runs functions while the kinds on which they depend are served. Make one with New: the zero value is not
// usable. A Gate is a runnable of a manager. A Gate starts when the manager is the leader. If WithoutLeaderElection is
// set, a Gate also starts without leadership. The methods are safe for concurrent use.
type Gate struct {
	cluster cluster
	logger  logging.Logger
	clock   clock.Clock
	leading bool
	wake    chan struct{}

	mu      sync.Mutex // guards the following fields
	started bool
	entries []*entry
	kinds   map[schema.GroupVersionKind]*kind
}

// cluster gives a gate access to the cluster. Its methods are safe for concurrent use. The methods served, track and
// removeInformers do not block.
type cluster interface {
	// watch calls changed each time the result of served may have changed. It returns when the context has ended or the
	// watch has failed.
	watch(ctx context.Context, changed func()) error

	// track adds a kind, so that served can return its state after some time.
	track(gvk schema.GroupVersionKind)

	// served returns the UID of the definition that serves a kind, byDiscovery, or "" if the kind is not served. It
	// returns false while this is unknown.
	served(gvk schema.GroupVersionKind) (by string, known bool)

	// waitUntilListable returns nil when the kind can be listed, or the error of ctx.
	waitUntilListable(ctx context.Context, gvk schema.GroupVersionKind) error

	// removeInformers removes the informers of a kind that is gone.
	removeInformers(ctx context.Context, gvk schema.GroupVersionKind) error
}

// An Option configures a Gate.
type Option func(*options)

// options holds the options of a gate.
type options struct {
	logger   logging.Logger
	leading  bool
	interval time.Duration
}

// WithLogger sets the logger for starts, stops and failures. By default they are not logged.
func WithLogger(l logging.Logger) Option {
	return func(o *options) { o.logger = l }
}

// WithoutLeaderElection lets the gate start before its manager is the leader.
func WithoutLeaderElection() Option {
	return func(o *options) { o.leading = false }
}

// WithDiscoveryInterval sets the interval at which the gate looks up kinds without a CustomResourceDefinition in
// discovery. Each lookup sends one request per group version of these kinds. The default is a minute. The minimum is a
// second.
func WithDiscoveryInterval(d time.Duration) Option {
	return func(o *options) { o.interval = max(d, time.Second) }
}

// New returns a gate for the kinds of a cluster, which may be a manager. Add the gate to the manager, which starts it.
// When a kind is removed, the gate waits until everything that depends on the kind has ended. Then it removes the
// informers of the kind from the cache of the cluster.
//
// New returns an error if it cannot make a client from the configuration of the cluster.
func New(c Cluster, o ...Option) (*Gate, error) {
	chosen := options{logger: logging.NewNopLogger(), leading: true, interval: time.Minute}
	for _, set := range o {
		set(&chosen)
	}
	server, err := newAPIServer(c, chosen)
	if err != nil {
		return nil, err
	}

	return newGate(server, chosen), nil
}

// newGate returns a gate for the cluster.
func newGate(w cluster, o options) *Gate {
	return &Gate{
		cluster: w, logger: o.logger, leading: o.leading, clock: clock.RealClock{},
		wake: make(chan struct{}, 1), kinds: map[schema.GroupVersionKind]*kind{},
	}
}

// Add runs the function start in a goroutine of the gate while all of the kinds are served. A kind is served if its
// CustomResourceDefinition is established and serves the version. Add may be called before and after the gate has
// started.
//
// If a CustomResourceDefinition is deleted and created again, the gate ends the context of the function start. The gate
// calls the function again after all functions that depend on the kind have returned.
//
// If the function start returns an error or panics while the kinds are served, the gate calls the function again. The
// backoff is from one second to a minute. If the function returns nil, the gate calls it again only after one of the
// kinds was removed and installed again.
func (g *Gate) Add(kinds []schema.GroupVersionKind, start StartFunc) {
	e := &entry{kinds: slices.Clone(kinds), start: start}
	g.mu.Lock()
	g.entries = append(g.entries, e)
	for _, gvk := range kinds {
		if g.kinds[gvk] == nil {
			g.kinds[gvk] = &kind{}
			g.cluster.track(gvk)
		}
	}
	g.mu.Unlock()
	g.wakeUp()
}

// Absent reports whether two facts hold: the kind is known not to be served, and no function that depends on the kind
// is running. The kind must have been passed to Add. Absent returns false while the gate does not know yet whether the
// kind is served.
func (g *Gate) Absent(gvk schema.GroupVersionKind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.kinds[gvk]
	by, known := g.cluster.served(gvk)

	return k != nil && k.usedBy == "" && known && by == ""
}

// NeedLeaderElection reports whether the gate starts only when the manager is the leader.
func (g *Gate) NeedLeaderElection() bool { return g.leading }

// Start runs the gate until the context ends. It returns after everything that the gate has started has returned. If
// the gate lacks the permission to watch CustomResourceDefinitions, Start retries. It returns an error if it is called
// twice, or if a watch of CustomResourceDefinitions is impossible.
func (g *Gate) Start(ctx context.Context) error {
	if err := g.markStarted(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	watched := make(chan error, 1)
	running.Go(func() { watched <- g.cluster.watch(ctx, g.wakeUp) })
	err := g.loop(ctx, &running, watched)
	stop()
	running.Wait()

	return errors.Wrap(err, "cannot watch CustomResourceDefinitions")
}

// markStarted returns an error if the gate was started before.
func (g *Gate) markStarted() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started {
		return errors.New("cannot start a gate twice")
	}
	g.started = true

	return nil
}

// loop runs steps until the context has ended or the watch fails. It returns the error of the watch.
func (g *Gate) loop(ctx context.Context, running *sync.WaitGroup, watched <-chan error) error {
	for {
		retry := g.clock.NewTimer(g.step(ctx, running))
		select {
		case <-ctx.Done():
			retry.Stop()

			return nil
		case err := <-watched:
			retry.Stop()

			return err
		case <-g.wake:
			retry.Stop()
		case <-retry.C():
		}
	}
}

// wakeUp triggers a step. It does not block.
func (g *Gate) wakeUp() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
