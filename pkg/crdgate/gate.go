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

// A StartFunc runs until its context ends, which happens when a kind that it depends on
// is no longer served, or the gate stops. It must return only after everything that it
// started has ended.
type StartFunc func(ctx context.Context) error

// A Gate runs functions while the kinds that they depend on are served. Use New: the zero
// value is not usable. It is a runnable of a manager: unless WithoutLeaderElection is
// used, it starts when the manager leads. Its methods are safe for concurrent use.
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

// cluster is the access of a gate to the cluster. Its methods are safe for concurrent
// use; served, track and removeInformers do not block.
type cluster interface {
	// watch calls changed whenever the result of served may have changed, and returns
	// when the context has ended or the watch failed.
	watch(ctx context.Context, changed func()) error

	// track makes a kind known to served, after a while.
	track(gvk schema.GroupVersionKind)

	// served returns the UID of the definition that serves a kind, byDiscovery, or ""
	// if the kind is not served. It reports false while that is not known.
	served(gvk schema.GroupVersionKind) (by string, known bool)

	// waitUntilListable returns when the kind can be listed, or with the error of ctx.
	waitUntilListable(ctx context.Context, gvk schema.GroupVersionKind) error

	// removeInformers removes the informers of a kind that is gone.
	removeInformers(ctx context.Context, gvk schema.GroupVersionKind) error
}

// An Option changes a Gate.
type Option func(*options)

// options holds the options of a gate.
type options struct {
	logger   logging.Logger
	leading  bool
	interval time.Duration
}

// WithLogger sets the logger for starts, stops and failures. The default discards them.
func WithLogger(l logging.Logger) Option {
	return func(o *options) { o.logger = l }
}

// WithoutLeaderElection lets the gate start before its manager leads.
func WithoutLeaderElection() Option {
	return func(o *options) { o.leading = false }
}

// WithDiscoveryInterval sets the interval at which the kinds without a
// CustomResourceDefinition are looked up in discovery, with one request for each of their
// group versions. The default is a minute, the least a second.
func WithDiscoveryInterval(d time.Duration) Option {
	return func(o *options) { o.interval = max(d, time.Second) }
}

// New returns a gate for the kinds of a cluster, which may be a manager. It does
// nothing before it is started: add it to the manager. When a kind is removed, the gate
// removes its informers from the cache of the cluster, after everything that depends on
// the kind has ended.
//
// It returns an error if the configuration of the cluster cannot make a client.
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

// Add runs start, in a goroutine of the gate, while all of the kinds are served: their
// definitions are established and serve the version. It may be called before and after
// the gate has started.
//
// If a definition is deleted and created again, start is stopped and run again, after
// all functions that depend on the kind have returned. A start that returns an error, or
// panics, while its kinds are served is run again with a backoff of one second up to a
// minute. One that returns nil is done, and runs again only after one of its kinds was
// removed and installed again.
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

// Absent reports whether a kind that was added is known not to be served, and nothing
// that depends on it is running. It is false before the gate knows.
func (g *Gate) Absent(gvk schema.GroupVersionKind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.kinds[gvk]
	by, known := g.cluster.served(gvk)

	return k != nil && k.usedBy == "" && known && by == ""
}

// NeedLeaderElection reports whether the gate starts only when the manager leads.
func (g *Gate) NeedLeaderElection() bool { return g.leading }

// Start runs the gate until the context ends, and returns when everything that it started
// has returned. It returns an error if it is called twice, or if the definitions cannot
// be watched at all. It retries as long as permissions are missing.
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

// loop runs steps until the context has ended or the watch fails, and returns the error
// of the watch.
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
