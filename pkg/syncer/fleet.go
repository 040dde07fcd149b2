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

// SetupMulticluster gives a Fleet to a manager of many clusters, which is one of
// multicluster-runtime: mgr.Add takes what R is, an interface that a Fleet implements
// for cluster names of type N. Both are inferred. It returns an error if a Fleet is no
// R.
func SetupMulticluster[N ~string, R any](mgr interface{ Add(r R) error }, host cluster.Cluster, newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error)) error {
	r, ok := any(NewFleet(host, newSyncer)).(R)
	if !ok {
		return errors.Errorf("cannot add a fleet to the manager: it takes a %s", reflect.TypeFor[R]())
	}
	return errors.Wrap(mgr.Add(r), "cannot add a fleet to the manager")
}

// A Fleet runs a syncer for each of many virtual clusters that come and go, all with
// one host, whose cache they share. Make one with NewFleet. It may be used
// concurrently.
type Fleet[N ~string] struct {
	host      cluster.Cluster
	newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error)
	started   chan struct{}
	base      context.Context //nolint:containedctx // ends what Engage begins
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu   sync.Mutex
	last map[N]*sync.WaitGroup // of the controllers that were started last under a name, and of all before them
}

// NewFleet returns a Fleet. The host runs elsewhere; its cache holds the namespaces in
// which host objects are. The function makes the syncer of a virtual cluster. Its
// context says that the cluster's name is the suffix of host names, and also the
// target namespace; it may be changed before anything is made of it.
func NewFleet[N ~string](host cluster.Cluster, newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error)) *Fleet[N] {
	base, stop := context.WithCancel(context.Background())
	return &Fleet[N]{host: host, newSyncer: newSyncer, started: make(chan struct{}), base: base, stop: stop, last: map[N]*sync.WaitGroup{}}
}

// Start lets syncers work until the context ends, and returns when all have stopped.
// It is called once.
func (f *Fleet[N]) Start(ctx context.Context) error {
	close(f.started)
	<-ctx.Done()
	f.stop()
	f.running.Wait()
	return nil
}

// Engage a virtual cluster, which runs until that context ends: its syncer is made,
// initialized and registered, and works from Start on until the context ends. A
// cluster that comes back under its name waits until the syncer of the former one has
// stopped. It is best made of a configuration that went through Guard, which also notices
// that the cluster was restored; for the host call clusters.OnRestored.
func (f *Fleet[N]) Engage(ctx context.Context, name N, virtual cluster.Cluster) error {
	if err := f.base.Err(); err != nil {
		return errors.Wrapf(err, "cannot engage the virtual cluster %q: the fleet has stopped", name)
	}
	uid, err := identify(ctx, virtual.GetAPIReader(), virtualCluster)
	if err != nil {
		return errors.Wrapf(err, "cannot engage the virtual cluster %q", name)
	}
	own, end := context.WithCancel(ctx)
	context.AfterFunc(f.base, end)
	l := log.Log.WithValues("virtualCluster", string(name))
	t := tenant{Cluster: virtual, ctx: own, log: l, start: f.starter(own, name, l)}
	h := t
	h.Cluster = f.host
	h.cache = leaving{f.host.GetCache(), own}
	err = register(&synccontext.RegisterContext{
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

// register does for one syncer what a Runner does for several.
func register[N ~string](reg *synccontext.RegisterContext, name N, newSyncer func(name N, ctx *synccontext.RegisterContext) (Syncer, error)) error {
	s, err := newSyncer(name, reg)
	if err != nil {
		return err
	}
	if i, ok := As[Initializer](s); ok {
		if err := i.Init(reg); err != nil {
			return errors.Wrapf(err, "cannot initialize %q", s.Name())
		}
	}
	if err := known(reg, s); err != nil {
		return err
	}
	if i, ok := As[IndicesRegisterer](s); ok {
		if err := i.RegisterIndices(reg); err != nil {
			return errors.Wrapf(err, "cannot register the indices of %q", s.Name())
		}
	}
	return add(reg, s)
}

// starter returns what starts the controllers of a virtual cluster: not before the
// fleet is started, nor before those of its predecessor have stopped.
func (f *Fleet[N]) starter(ctx context.Context, name N, l logr.Logger) func(manager.Runnable) {
	f.mu.Lock()
	defer f.mu.Unlock()
	former, mine := f.last[name], &sync.WaitGroup{}
	f.last[name] = mine
	if former != nil {
		mine.Go(former.Wait) // whoever comes next waits for mine alone
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
