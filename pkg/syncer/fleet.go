package syncer

import (
	"context"
	"reflect"
	"sync"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// SetupMulticluster creates a Fleet and adds it to a manager of multicluster-runtime. The type
// parameters are inferred: N is the type of cluster names, and R the interface that mgr.Add
// accepts. It returns an error if a Fleet does not implement R.
func SetupMulticluster[N ~string, R any](
	mgr interface{ Add(r R) error }, host cluster.Cluster,
	newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error),
) error {
	r, ok := any(NewFleet(host, newSyncer)).(R)
	if !ok {
		return errors.Errorf("cannot add a fleet to the manager: it takes a %s", reflect.TypeFor[R]())
	}
	return errors.Wrap(mgr.Add(r), "cannot add a fleet to the manager")
}

// A Fleet runs one syncer for each virtual cluster. Virtual clusters are added and removed at run
// time. All syncers use one host and share its cache. Create a Fleet with NewFleet. It is safe for
// concurrent use.
type Fleet[N ~string] struct {
	host      cluster.Cluster
	newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error)
	started   chan struct{}
	ctx       context.Context //nolint:containedctx // parent of the contexts that Engage creates
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu          sync.Mutex
	controllers map[N]*sync.WaitGroup // per name: the controllers started last and all before them
}

// NewFleet returns a Fleet, which runs one syncer for each virtual cluster. The function newSyncer creates the syncer
// of one virtual cluster from a RegisterContext. In this context, the suffix of host names and the target namespace are
// the name of the virtual cluster. The function newSyncer may first change the context.
//
// The caller starts the host cluster. The cache of the host must contain the namespaces of the host objects.
func NewFleet[N ~string](
	host cluster.Cluster, newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error),
) *Fleet[N] {
	ctx, stop := context.WithCancel(context.Background())
	return &Fleet[N]{
		host: host, newSyncer: newSyncer, started: make(chan struct{}), ctx: ctx, stop: stop,
		controllers: map[N]*sync.WaitGroup{},
	}
}

// Start runs the syncers until the context ends, and returns when all syncers have stopped. Call it
// once.
func (f *Fleet[N]) Start(ctx context.Context) error {
	close(f.started)
	<-ctx.Done()
	f.stop()
	f.running.Wait()
	return nil
}

// Engage creates, initializes and registers the syncer of a virtual cluster. The syncer runs from
// Start until ctx ends. If a cluster with the same name was engaged before, the new syncer waits
// until the former one has stopped. After the Fleet has stopped, Engage returns an error.
//
// Create the argument virtual from a configuration that Guard has returned. Guard also detects that the virtual cluster
// was restored to an earlier state. To detect a restore of the host, call clusters.OnRestored for the configuration of
// the host.
func (f *Fleet[N]) Engage(ctx context.Context, name N, virtual cluster.Cluster) error {
	if err := f.ctx.Err(); err != nil {
		return errors.Wrapf(err, "cannot engage the virtual cluster %q: the fleet has stopped", name)
	}
	uid, err := readIdentity(ctx, virtual.GetAPIReader(), virtualCluster)
	if err != nil {
		return errors.Wrapf(err, "cannot engage the virtual cluster %q", name)
	}
	own, end := context.WithCancel(ctx)
	context.AfterFunc(f.ctx, end)
	l := log.Log.WithValues("virtualCluster", string(name))
	t := clusterManager{Cluster: virtual, ctx: own, log: l, start: f.startFunc(own, name, l)}
	h := t
	h.Cluster = f.host
	h.cache = scopedCache{f.host.GetCache(), own}
	err = registerSyncer(&synccontext.RegisterContext{
		Context:         own,
		Options:         &synccontext.VirtualClusterOptions{Name: string(name), TargetNamespace: string(name)},
		TargetNamespace: string(name), CurrentNamespace: string(name), CurrentNamespaceClient: f.host.GetClient(),
		VirtualManager: t, PhysicalManager: h, Names: &translate.Names{Suffix: string(name), Cluster: string(uid)},
	}, name, f.newSyncer)
	if err != nil {
		end()
	}
	return errors.Wrapf(err, "cannot engage the virtual cluster %q", name)
}

// registerSyncer creates and registers one syncer. The steps are the same as in a Runner.
func registerSyncer[N ~string](
	reg *synccontext.RegisterContext, name N,
	newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error),
) error {
	s, err := newSyncer(name, reg)
	if err != nil {
		return err
	}
	if i, ok := As[Initializer](s); ok {
		if err := i.Init(reg); err != nil {
			return errors.Wrapf(err, "cannot initialize %q", s.Name())
		}
	}
	if err := checkServed(reg, s); err != nil {
		return err
	}
	if i, ok := As[IndicesRegisterer](s); ok {
		if err := i.RegisterIndices(reg); err != nil {
			return errors.Wrapf(err, "cannot register the indices of %q", s.Name())
		}
	}
	return addItem(reg, s)
}

// startFunc returns a function that starts a controller of a virtual cluster. The controller waits
// until the fleet has started, and until all controllers that were engaged before under this name
// have stopped.
func (f *Fleet[N]) startFunc(ctx context.Context, name N, l logr.Logger) func(manager.Runnable) {
	f.mu.Lock()
	defer f.mu.Unlock()
	former, mine := f.controllers[name], &sync.WaitGroup{}
	f.controllers[name] = mine
	if former != nil {
		mine.Go(former.Wait) // the next one has to wait for mine only
	}
	return func(r manager.Runnable) {
		mine.Add(1)
		f.running.Go(func() {
			defer mine.Done()
			select {
			case <-f.started:
			case <-ctx.Done():
				return
			}
			if former != nil {
				former.Wait()
			}
			if err := r.Start(ctx); err != nil {
				l.Error(err, "Cannot run a controller of a virtual cluster")
			}
		})
	}
}
