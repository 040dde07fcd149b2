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

// A StartFunc runs until its context ends, which happens when a kind it depends
// on is no longer served, or the gate ends. It returns only when everything it
// started has ended too.
type StartFunc func(ctx context.Context) error

// A Gate runs functions while the kinds they depend on are served. Make one with
// New; the zero value is not usable. It is a runnable of a manager: unless
// WithoutLeaderElection says otherwise, it starts when the manager leads.
//
// Its methods may be called concurrently.
type Gate struct {
	world   world
	logger  logging.Logger
	clock   clock.Clock
	leading bool
	wake    chan struct{}

	mu      sync.Mutex // guards what follows
	started bool
	entries []*entry
	kinds   map[schema.GroupVersionKind]*kind
}

// The world is what a gate looks at and acts upon. Its methods may be called
// concurrently; served, track and forget do not wait.
type world interface {
	// watch calls changed whenever served may answer otherwise, and returns when
	// the context has ended or watching failed.
	watch(ctx context.Context, changed func()) error

	// track makes served know a kind, sooner or later.
	track(gvk schema.GroupVersionKind)

	// served returns what serves a kind now, "" if nothing does. It reports false
	// while that is not known.
	served(gvk schema.GroupVersionKind) (by string, known bool)

	// await returns when the kind can be listed, or with the context's error.
	await(ctx context.Context, gvk schema.GroupVersionKind) error

	// forget drops what was kept of a kind that is gone.
	forget(ctx context.Context, gvk schema.GroupVersionKind) error
}

// An Option of a gate.
type Option func(*options)

type options struct {
	logger   logging.Logger
	leading  bool
	interval time.Duration
}

// WithLogger says where the gate tells what starts, stops and fails. By default
// it tells nobody.
func WithLogger(l logging.Logger) Option {
	return func(o *options) { o.logger = l }
}

// WithoutLeaderElection lets the gate start without its manager leading.
func WithoutLeaderElection() Option {
	return func(o *options) { o.leading = false }
}

// WithDiscoveryInterval says how often discovery is asked for the kinds that have
// no definition: one request for each of their group versions. By default that
// is a minute. Anything below a second means a second.
func WithDiscoveryInterval(d time.Duration) Option {
	return func(o *options) { o.interval = max(d, time.Second) }
}

// New returns a gate for the kinds of a cluster, which may be a manager. It does
// nothing before it is started: give it to Add of the manager. When a kind goes,
// its informers go from the cache of the cluster, after everything that depends on
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

func newGate(w world, o options) *Gate {
	return &Gate{
		world: w, logger: o.logger, leading: o.leading, clock: clock.RealClock{},
		wake: make(chan struct{}, 1), kinds: map[schema.GroupVersionKind]*kind{},
	}
}

// Add lets start run, in a goroutine of the gate, while every one of the kinds is
// served: its definition is established and serves the version. It may be called
// before and after the gate has started.
//
// A definition that was deleted and made anew is another one: start is ended, and
// run again. Whatever depends on a kind that went has returned before any of it
// runs again. A start that returns an error, or panics, while its kinds are served
// is run again after a back-off of one second up to a minute. One that returns nil
// is done, and runs again only after one of its kinds went and came back.
func (g *Gate) Add(kinds []schema.GroupVersionKind, start StartFunc) {
	e := &entry{kinds: slices.Clone(kinds), start: start}
	g.mu.Lock()
	g.entries = append(g.entries, e)
	for _, gvk := range kinds {
		if g.kinds[gvk] == nil {
			g.kinds[gvk] = &kind{}
			g.world.track(gvk)
		}
	}
	g.mu.Unlock()
	g.poke()
}

// Absent reports whether a kind, one that was added, is known not to be served, and
// nothing that depends on it is running. It is false before the gate knows.
func (g *Gate) Absent(gvk schema.GroupVersionKind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.kinds[gvk]
	by, known := g.world.served(gvk)

	return k != nil && k.by == "" && known && by == ""
}

// NeedLeaderElection reports whether the gate starts only when the manager leads.
func (g *Gate) NeedLeaderElection() bool { return g.leading }

// Start runs the gate until the context ends, and returns when all it started has
// returned. It returns an error if it is called twice, or if the definitions cannot
// be watched at all; missing permissions are waited for.
func (g *Gate) Start(ctx context.Context) error {
	if err := g.begin(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	watched := make(chan error, 1)
	running.Go(func() { watched <- g.world.watch(ctx, g.poke) })
	err := g.loop(ctx, &running, watched)
	stop()
	running.Wait()

	return errors.Wrap(err, "cannot watch CustomResourceDefinitions")
}

func (g *Gate) begin() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started {
		return errors.New("cannot start a gate twice")
	}
	g.started = true

	return nil
}

// loop returns when the context has ended, or with the error of the watch.
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

// poke lets the loop look again. It never waits.
func (g *Gate) poke() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
